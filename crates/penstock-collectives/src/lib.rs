//! Groups of processes that compute together, over TCP.
//!
//! A [`Listener`] has an address, which its owner tells the others by whatever means there are. Who knows the addresses of all
//! members [joins](Listener::join) the group, which is then handed to the engine by [`Env::group`](penstock_ir::Env::group).
//!
//! ```
//! use std::time::Duration;
//!
//! use penstock_collectives::{Listener, Membership};
//! use penstock_data::Tensor;
//! use penstock_ir::{Collective, Combine, Group};
//!
//! let listeners: Vec<Listener> = (0..2).map(|_| Listener::bind("127.0.0.1:0").unwrap()).collect();
//! let members: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
//! std::thread::scope(|threads| {
//!     for (rank, listener) in listeners.iter().enumerate() {
//!         let membership = Membership { key: 1, rank, members: members.clone(), timeout: Duration::from_secs(10) };
//!         threads.spawn(move || {
//!             let group = listener.join(membership).unwrap();
//!             let value = Tensor::vector(&[rank as f32, 1.0]);
//!             let ticket = group.start(Collective::AllReduce(Combine::Sum), "example", &value).unwrap();
//!             assert_eq!(group.wait(ticket, &value, &|| Ok(())).unwrap().as_slice::<f32>(), [1.0, 2.0]);
//!         });
//!     }
//! });
//! ```
//!
//! **Order.** Each group has a thread that does its collectives one after the other, in the order in which they were started. The
//! combination of values has a fixed order for a rank and a size, so all members get the same bits, in every run.
//!
//! **Faults.** A collective begins with its description; members that do not agree get an error that names both. A member that fails,
//! leaves or ends says so or closes its connections, and nobody waits for one that is silent for longer than the timeout. A group that
//! has failed stays so: the others join a new one, with another key.
//!
//! **Trust.** Connections are neither encrypted nor authenticated: the network is trusted, as that of MPI or Gloo is. What arrives is
//! checked so far that no bytes can break memory.

mod combine;
mod exchange;
mod group;
mod link;
mod listener;

pub use group::{Membership, TcpGroup};
pub use listener::Listener;
