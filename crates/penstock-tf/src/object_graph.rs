//! What owned the tensors of a checkpoint: objects with names for what they own, and the keys of their tensors.

use penstock_data::Result;

use penstock_wire::{Field, put_message, put_number, put_text};

use crate::fields;

/// The key of the graph in a bundle, whose value is a `string` scalar.
pub const OBJECT_GRAPH_KEY: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// The objects of a checkpoint: TensorFlow's `TrackableObjectGraph`. The first is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectGraph {
    /// The objects by their numbers.
    pub nodes: Vec<Node>,
}

/// An object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The numbers of the objects that it owns, by name.
    pub children: Vec<(u64, String)>,
    /// Its own tensors.
    pub attributes: Vec<Attribute>,
    /// Of an optimiser: what it keeps for variables.
    pub slots: Vec<Slot>,
}

/// A tensor of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    /// Which of its tensors, such as `VARIABLE_VALUE`.
    pub name: String,
    /// The name of a variable.
    pub full_name: String,
    /// The key of the tensor in the bundle.
    pub key: String,
}

/// A variable that an optimiser keeps for another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The number of the variable that is trained.
    pub original: u64,
    /// What it is kept as.
    pub name: String,
    /// The number of the variable that is kept.
    pub variable: u64,
}

const SECTION: &str = "the graph of objects";

impl ObjectGraph {
    /// The graph of a message.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are none, and numbers of objects that are not there.
    pub fn parse(bytes: &[u8]) -> Result<ObjectGraph> {
        let mut nodes = Vec::new();
        fields(SECTION, bytes, |number, field| {
            if number == 1 {
                nodes.push(Node::parse(field)?);
            }
            Ok(())
        })?;
        let count = nodes.len() as u64;
        let inside = |node: &Node| {
            node.children.iter().all(|(id, _)| *id < count)
                && node.slots.iter().all(|slot| slot.original < count && slot.variable < count)
        };
        if nodes.iter().all(inside) {
            return Ok(ObjectGraph { nodes });
        }
        Err(crate::damaged(SECTION, "an object owns one that does not exist"))
    }

    /// The message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for node in &self.nodes {
            put_message(&mut out, 1, |out| node.write(out));
        }
        out
    }
}

impl Node {
    fn parse(field: Field<'_>) -> Result<Node> {
        let mut node = Node::default();
        fields(SECTION, field.bytes(), |number, field| {
            match number {
                1 => {
                    let mut child = (0, String::new());
                    fields(SECTION, field.bytes(), |number, field| {
                        match number {
                            1 => child.0 = field.number(),
                            2 => child.1 = text(field)?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    node.children.push(child);
                }
                2 => {
                    let mut attribute = Attribute::default();
                    fields(SECTION, field.bytes(), |number, field| {
                        match number {
                            1 => attribute.name = text(field)?,
                            2 => attribute.full_name = text(field)?,
                            3 => attribute.key = text(field)?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    node.attributes.push(attribute);
                }
                3 => {
                    let mut slot = Slot::default();
                    fields(SECTION, field.bytes(), |number, field| {
                        match number {
                            1 => slot.original = field.number(),
                            2 => slot.name = text(field)?,
                            3 => slot.variable = field.number(),
                            _ => {}
                        }
                        Ok(())
                    })?;
                    node.slots.push(slot);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(node)
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (id, name) in &self.children {
            put_message(out, 1, |out| {
                put_number(out, 1, *id);
                put_text(out, 2, name);
            });
        }
        for attribute in &self.attributes {
            put_message(out, 2, |out| {
                put_text(out, 1, &attribute.name);
                put_text(out, 2, &attribute.full_name);
                put_text(out, 3, &attribute.key);
            });
        }
        for slot in &self.slots {
            put_message(out, 3, |out| {
                put_number(out, 1, slot.original);
                put_text(out, 2, &slot.name);
                put_number(out, 3, slot.variable);
            });
        }
    }
}

/// The text of a field.
fn text(field: Field<'_>) -> Result<String> {
    field.text().map(str::to_owned).map_err(|e| crate::damaged(SECTION, e))
}
