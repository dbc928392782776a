//! Memory that is kept back. The test has a process of its own: the next operation, of any thread, gets the error.

use penstock_data::{Class, Reserve, memory};

#[global_allocator]
static ALLOCATOR: Reserve = Reserve;

#[test]
fn whoever_asks_first_after_memory_ran_out_is_told_once() {
    assert!(!Reserve::release());
    Reserve::fill();
    Reserve::check().unwrap();
    for _ in 0..2 {
        assert!(Reserve::release());
        assert!(!Reserve::release());
        let mut numbers = vec![1];
        assert_eq!(memory::push(&mut numbers, 2).unwrap_err().class(), Class::ResourceExhausted);
        memory::push(&mut numbers, 3).unwrap();
        assert_eq!(numbers, [1, 3]);
    }
}
