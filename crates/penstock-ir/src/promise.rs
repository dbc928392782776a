//! The promise that declarations of operators are sound.

/// The word of who declares operators that the fields of each [`OpDef`](crate::OpDef) agree. Safe code has no way to one: it can be
/// made by unsafe code alone, and not be taken from another declaration.
#[derive(Debug)]
pub struct Promise(());

impl Promise {
    /// Gives the word.
    ///
    /// # Safety
    /// For each declaration that it becomes a part of, with operands and attributes that it accepts:
    ///
    /// - results of the kernel have the dtypes and extents that `infer` gives;
    /// - it reads no rows of operands but those that `rows` tells of, and results have the elements that `elements` tells;
    /// - it reads and writes no variable that `effects` does not list;
    /// - `cuda` makes code that does the same.
    #[expect(unsafe_code, reason = "what runs graphs trusts declarations")]
    pub const unsafe fn new() -> Promise {
        Promise(())
    }
}
