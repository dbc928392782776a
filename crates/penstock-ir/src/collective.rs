//! What the processes of a group compute together.
//!
//! All members of a [`Group`] start the same [`Collective`]s in the same order, each with a value of its own. How the values
//! travel is the group's affair: an [`Env`](crate::Env) hands groups to the operators, by name.

use std::fmt;

use penstock_data::{DType, DTypeSet, Error, Result, Tensor};

/// How the values of several members become one, element by element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// The least; NaN if there is one.
    Min,
    /// The greatest; NaN if there is one.
    Max,
}

impl Combine {
    /// All of them.
    pub const ALL: [Combine; 4] = [Combine::Sum, Combine::Product, Combine::Min, Combine::Max];

    /// Its name in attributes.
    pub const fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Product => "product",
            Combine::Min => "min",
            Combine::Max => "max",
        }
    }

    /// That of a name.
    pub fn from_name(name: &str) -> Option<Combine> {
        Combine::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The dtypes that it is defined for.
    pub const fn dtypes(self) -> DTypeSet {
        match self {
            Combine::Sum | Combine::Product => DTypeSet::NUMERIC,
            Combine::Min | Combine::Max => DTypeSet::REAL,
        }
    }
}

/// What the members of a group do together. The value that each of them gives has the same dtype and the same extents, but for the first
/// extent in [`Collective::AllGather`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// All get the combined values.
    AllReduce(Combine),
    /// Each gets its part of the combined values: the first extent is divided among the members.
    ReduceScatter(Combine),
    /// All get the values of all, one after the other along the first dimension.
    AllGather,
    /// All get the value of this member.
    Broadcast(usize),
    /// This member gets the combined values; the others get zeros.
    Reduce(Combine, usize),
    /// The first extent is divided among the members: each gets its part of all values, one after the other.
    AllToAll,
}

impl Collective {
    /// The names in attributes, in the order of the declaration.
    pub const NAMES: [&'static str; 6] =
        ["all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all"];

    /// That of the attributes of an operator.
    ///
    /// # Errors
    /// `InvalidArgument` for another name, naming the argument.
    pub fn from_names(name: &str, combine: &str, root: i64) -> Result<Collective> {
        let combine = || {
            Combine::from_name(combine).ok_or_else(|| {
                let all = Combine::ALL.map(Combine::name).join(", ");
                Error::invalid(format!("'{combine}' is none of {all}")).argument("combine")
            })
        };
        let root = || {
            let wrong = || Error::invalid(format!("{root} is the rank of no member")).argument("root");
            usize::try_from(root).map_err(|_| wrong())
        };
        Ok(match name {
            "all_reduce" => Collective::AllReduce(combine()?),
            "reduce_scatter" => Collective::ReduceScatter(combine()?),
            "all_gather" => Collective::AllGather,
            "broadcast" => Collective::Broadcast(root()?),
            "reduce" => Collective::Reduce(combine()?, root()?),
            "all_to_all" => Collective::AllToAll,
            _ => {
                let all = Collective::NAMES.join(", ");
                return Err(Error::invalid(format!("'{name}' is none of {all}")).argument("collective"));
            }
        })
    }

    /// How values are combined, where they are.
    pub fn combine(self) -> Option<Combine> {
        match self {
            Collective::AllReduce(c) | Collective::ReduceScatter(c) | Collective::Reduce(c, _) => Some(c),
            Collective::AllGather | Collective::Broadcast(_) | Collective::AllToAll => None,
        }
    }

    /// Whether the first dimension is divided or joined.
    pub fn goes_by_rows(self) -> bool {
        matches!(self, Collective::ReduceScatter(_) | Collective::AllGather | Collective::AllToAll)
    }

    /// Checks that values of a dtype can take part.
    ///
    /// # Errors
    /// `DType` where they cannot.
    pub fn check_dtype(self, dtype: DType) -> Result<()> {
        let set = self.combine().map_or(DTypeSet::PLAIN, Combine::dtypes);
        if set.contains(dtype) {
            return Ok(());
        }
        let name = dtype.tf_name();
        Err(Error::dtype(format!("dtype {name} cannot take part in {self}; expected one of: {set}")).argument("value"))
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Collective::AllReduce(c) => write!(f, "all_reduce of the {}", c.name()),
            Collective::ReduceScatter(c) => write!(f, "reduce_scatter of the {}", c.name()),
            Collective::AllGather => f.write_str("all_gather"),
            Collective::Broadcast(root) => write!(f, "broadcast from rank {root}"),
            Collective::Reduce(c, root) => write!(f, "reduce of the {} to rank {root}", c.name()),
            Collective::AllToAll => f.write_str("all_to_all"),
        }
    }
}

/// Processes that compute together, as one of them sees it.
pub trait Group: fmt::Debug + Send + Sync {
    /// The number of this member, from 0.
    fn rank(&self) -> usize;

    /// How many members there are.
    fn size(&self) -> usize;

    /// Starts a collective, and gives a ticket for [`Group::wait`]. It does not wait for other members. `name` says in errors which
    /// one it is.
    ///
    /// # Errors
    /// `Unavailable` where the group has failed; `InvalidArgument` or `DType` for a value that cannot take part.
    fn start(&self, collective: Collective, name: &str, value: &Tensor) -> Result<i64>;

    /// Waits for the result of a collective of `value`. `poll` is called every few milliseconds; its error ends the wait.
    ///
    /// # Errors
    /// What `poll` reports; `Unavailable` where a member cannot be reached; `InvalidArgument` where another member started something
    /// else, and for a ticket that was redeemed before.
    fn wait(&self, ticket: i64, value: &Tensor, poll: &dyn Fn() -> Result<()>) -> Result<Tensor>;
}

/// The group of one process: each result is the value itself.
#[derive(Debug)]
pub struct Alone;

impl Group for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn start(&self, collective: Collective, _: &str, value: &Tensor) -> Result<i64> {
        if let Collective::Broadcast(root) | Collective::Reduce(_, root) = collective
            && root > 0
        {
            return Err(Error::invalid(format!("there is no rank {root} in a group of 1")).argument("root"));
        }
        collective.check_dtype(value.dtype()).map(|()| 0)
    }

    fn wait(&self, _: i64, value: &Tensor, _: &dyn Fn() -> Result<()>) -> Result<Tensor> {
        Ok(value.clone())
    }
}
