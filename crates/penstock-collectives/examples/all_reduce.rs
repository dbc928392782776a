//! The least time of an `all_reduce` among threads of this process, by its bytes: `cargo run --release --example all_reduce [MEMBERS]`.

use std::time::{Duration, Instant};

use penstock_collectives::{Listener, Membership};
use penstock_data::{DType, Tensor};
use penstock_ir::{Collective, Combine, Group};

fn main() {
    let members = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let listeners: Vec<Listener> = (0..members).map(|_| Listener::bind("127.0.0.1:0").expect("a port")).collect();
    let addresses: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
    std::thread::scope(|threads| {
        for (rank, listener) in listeners.iter().enumerate() {
            let membership = Membership { key: 1, rank, members: addresses.clone(), timeout: Duration::from_secs(30) };
            threads.spawn(move || {
                let group = listener.join(membership).expect("a group");
                for bytes in [4usize, 4 << 10, 64 << 10, 1 << 20, 2 << 20, 4 << 20, 25 << 20, 100 << 20] {
                    let value = Tensor::zeros(DType::F32, &[bytes / 4]).expect("memory");
                    let best = (0..(32 << 20) / bytes.max(64 << 10) + 8).map(|_| {
                        let began = Instant::now();
                        let ticket = group.start(Collective::AllReduce(Combine::Sum), "", &value).expect("a start");
                        group.wait(ticket, &value, &|| Ok(())).expect("a result");
                        began.elapsed()
                    });
                    let best = best.min().unwrap_or_default();
                    if rank == 0 {
                        println!("{bytes:>10} bytes {:>10.3} ms", best.as_secs_f64() * 1e3);
                    }
                }
            });
        }
    });
}
