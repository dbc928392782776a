//! What stages give, errors in their places, and how threads begin and end.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use penstock_data::{Class, DType, Error, Loc, Result, Tensor};
use penstock_input::{
    Ahead, AtHand, AtOnce, Batch, Batches, Files, Filter, FlatMap, Format, Function, Given, Groups, Interleave, Leaves,
    Map, Numbers, Open, PaddedBatch, Padding, Pads, Pull, Rows, Shuffle, Skip, Slices, Stage, Take, Unique,
    WindowBatches, WindowRows, WindowSize, Windows,
};
use penstock_ir::Env;
use penstock_trace::Host;

/// Longer than any wait for another thread takes; it ends tests that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    /// Whether somebody interrupts the thread.
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}

/// A program that has nothing to say.
struct Program;

impl Env for Program {
    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Ok((0, 0))
    }

    fn poll(&self) -> Result<()> {
        if INTERRUPTED.get() { Err(Error::unavailable("interrupted")) } else { Ok(()) }
    }
}

impl Host for Program {
    fn loc(&self) -> Loc {
        Loc::UNKNOWN
    }
}

/// Counts from `start`. There are `count` numbers.
fn numbers(start: i64, count: u64) -> Pull {
    static HOST: Once = Once::new();
    HOST.call_once(|| penstock_trace::set_host(Box::new(Program)));
    Box::new(Numbers::new(start, 1, Some(count), DType::I64))
}

/// A number of an element, or the message of an error in its place.
fn outcomes(mut stage: Pull, limit: usize) -> Vec<std::result::Result<Vec<i64>, String>> {
    let mut found = Vec::new();
    loop {
        match stage.pull(limit) {
            Ok(None) => return found,
            Ok(Some(rows)) => {
                assert!((1..=limit).contains(&rows.count));
                for i in 0..rows.count {
                    let leaves = rows.at(i).unwrap();
                    found.push(Ok(leaves[0].as_ref().unwrap().as_slice::<i64>().to_vec()));
                }
            }
            Err(error) => found.push(Err(error.message().to_owned())),
        }
    }
}

fn values(stage: Pull, limit: usize) -> Vec<i64> {
    outcomes(stage, limit).into_iter().flat_map(Result::unwrap).collect()
}

/// A function of a number, which fails for some and may take columns.
struct Each {
    of: fn(i64) -> Option<i64>,
    pure: bool,
    /// How many elements each call took.
    calls: Mutex<BTreeSet<usize>>,
}

fn each(of: fn(i64) -> Option<i64>, pure: bool) -> Arc<Each> {
    Arc::new(Each { of, pure, calls: Mutex::default() })
}

impl Function for Each {
    fn call(&self, leaves: &[Option<Tensor>]) -> Result<Leaves> {
        let x = leaves[0].as_ref().unwrap().item::<i64>().unwrap();
        self.calls.lock().unwrap().insert(1);
        let y = (self.of)(x).ok_or_else(|| Error::invalid(format!("no {x}")))?;
        Ok(vec![Some(Tensor::scalar(y))])
    }

    fn of_columns(&self, columns: &[Option<Tensor>]) -> Result<Leaves> {
        let xs = columns[0].as_ref().unwrap().as_slice::<i64>();
        let ys: Option<Vec<i64>> = xs.iter().map(|&x| (self.of)(x)).collect();
        self.calls.lock().unwrap().insert(xs.len());
        Ok(vec![Some(Tensor::vector(&ys.ok_or_else(|| Error::invalid("one of them"))?))])
    }

    fn is_pure(&self) -> bool {
        self.pure
    }
}

#[test]
fn numbers_and_slices_come_in_pieces_up_to_the_limit() {
    for limit in [1, 2, 7, 100] {
        assert_eq!(values(numbers(3, 10), limit), (3..13).collect::<Vec<_>>());
        let rows = Slices::new(3, vec![Some(Tensor::from_slice(&[3, 2], &[1i64, 2, 3, 4, 5, 6]).unwrap())]);
        assert_eq!(values(Box::new(rows), limit), [1, 2, 3, 4, 5, 6]);
    }
    let mut endless = Numbers::new(5, -2, None, DType::I32);
    let rows = endless.pull(3).unwrap().unwrap();
    assert_eq!(rows.columns[0].as_ref().unwrap().as_slice::<i32>(), [5, 3, 1]);
}

#[test]
fn taking_skipping_and_batching_agree_with_lists() {
    for (limit, size, drop) in [(1, 3, false), (4, 3, true), (64, 4, false), (3, 20, false), (3, 20, true)] {
        let some = Box::new(Take::new(Box::new(Skip::new(numbers(0, 30), 5)), 11));
        let all: Vec<i64> = (5..16).collect();
        let expected: Vec<Vec<i64>> =
            all.chunks(size).filter(|c| !drop || c.len() == size).map(<[i64]>::to_vec).collect();
        let found = outcomes(Box::new(Batch::new(some, size, drop)), limit);
        assert_eq!(found.into_iter().map(Result::unwrap).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_pure_function_runs_for_many_elements_at_once_and_errors_keep_their_places() {
    let double = each(|x| Some(2 * x), true);
    assert_eq!(
        values(Box::new(Map::new(numbers(0, 100), double.clone())), 64),
        (0..200).step_by(2).collect::<Vec<_>>()
    );
    assert!(double.calls.lock().unwrap().iter().any(|&count| count > 4));

    for pure in [false, true] {
        let some = each(|x| (x % 7 != 3).then_some(x), pure);
        let expected: Vec<_> = (0..40).map(|x| if x % 7 == 3 { Err(format!("no {x}")) } else { Ok(vec![x]) }).collect();
        for limit in [1, 5, 64] {
            assert_eq!(outcomes(Box::new(Map::new(numbers(0, 40), some.clone())), limit), expected);
            // An error of an element costs those that were gathered with it.
            let ahead = Ahead::new(
                {
                    let some = some.clone();
                    move || Ok(Box::new(Map::new(numbers(0, 40), some)) as Pull)
                },
                3,
                None,
                Box::new(|| ()),
            );
            assert_eq!(outcomes(Box::new(ahead), limit), expected);
        }
    }
}

/// A function that says of numbers whether they are even.
struct Even;

impl Function for Even {
    fn call(&self, leaves: &[Option<Tensor>]) -> Result<Leaves> {
        let x = leaves[0].as_ref().unwrap().item::<i64>().unwrap();
        Ok(vec![Some(Tensor::scalar(penstock_data::Bool8::new(x % 2 == 0)))])
    }

    fn of_columns(&self, _: &[Option<Tensor>]) -> Result<Leaves> {
        Err(Error::unimplemented("one by one"))
    }

    fn is_pure(&self) -> bool {
        false
    }
}

#[test]
fn a_filter_keeps_what_its_function_says() {
    assert_eq!(values(Box::new(Filter::new(numbers(1, 9), Arc::new(Even))), 4), [2, 4, 6, 8]);
}

/// A data set of as many numbers as an element says.
fn opened(leaves: Leaves) -> Result<Pull> {
    let x = leaves[0].as_ref().unwrap().item::<i64>().unwrap();
    if x == 4 { Err(Error::invalid("not 4")) } else { Ok(numbers(10 * x, x as u64)) }
}

#[test]
fn interleaving_with_threads_gives_what_it_gives_without() {
    for (cycle, block) in [(1, 1), (2, 1), (3, 2), (9, 3)] {
        let made = |calls: Option<usize>| {
            let at_once = calls.map(|count| AtOnce { count, begin: Box::new(|| Box::new(|| ())) });
            outcomes(Box::new(Interleave::new(numbers(0, 8), Arc::new(opened), cycle, block, at_once)), 5)
        };
        let serial = made(None);
        assert_eq!(serial.len(), 28 - 4 + 1);
        for calls in [1, 2, 5] {
            assert_eq!(made(Some(calls)), serial);
        }
        if (cycle, block) == (1, 1) {
            assert_eq!(outcomes(Box::new(FlatMap::new(numbers(0, 8), Arc::new(opened))), 5), serial);
        }
    }
}

/// A stage that tells when it is asked, and when it is dropped.
struct Told(Sender<&'static str>);

impl Stage for Told {
    fn pull(&mut self, _: usize) -> Result<Option<Rows>> {
        let _ = self.0.send("asked");
        Ok(Some(Rows::one(vec![Some(Tensor::scalar(1i64))])))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

fn told(size: usize) -> (Ahead, Receiver<&'static str>) {
    let (told, heard) = channel();
    (Ahead::new(move || Ok(Box::new(Told(told)) as Pull), size, None, Box::new(|| ())), heard)
}

#[test]
fn a_thread_reads_ahead_up_to_its_size_and_ends_with_who_asks() {
    drop(numbers(0, 0));
    let (mut ahead, heard) = told(3);
    assert!(heard.try_recv().is_err(), "nobody has asked yet");
    assert_eq!(ahead.pull(1).unwrap().unwrap().count, 1);
    for _ in 0..4 {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok("asked"));
    }
    drop(ahead);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok("dropped"));
    assert!(heard.recv_timeout(PATIENCE).is_err(), "the thread has gone");
}

#[test]
fn what_cannot_be_opened_is_an_error_and_then_the_end() {
    drop(numbers(0, 0));
    let mut ahead = Ahead::new(|| Err(Error::invalid("never")), 2, None, Box::new(|| ()));
    assert_eq!(ahead.pull(1).unwrap_err().message(), "never");
    assert!(ahead.is_unopened());
    assert!(ahead.pull(1).unwrap().is_none());
}

fn framed(record: &[u8]) -> Vec<u8> {
    let masked = |data: &[u8]| crc32c::crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes();
    let size = (record.len() as u64).to_le_bytes();
    [&size[..], &masked(&size), record, &masked(record)].concat()
}

/// The pieces of two files of this content, and how reading ends.
fn pieces(content: &[u8], format: Format) -> (Vec<Vec<u8>>, Option<Class>) {
    drop(numbers(0, 0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, content).unwrap();
    let names = vec![path.to_str().unwrap().to_owned(); 2];
    let mut stage = Files::new(names, format, Arc::new(|name, error| Error::not_found(format!("{name}: {error}"))));
    let (mut found, mut failed) = (Vec::new(), None);
    loop {
        match stage.pull(2) {
            Ok(None) => break,
            Ok(Some(rows)) => found.extend(rows.columns[0].as_ref().unwrap().strings().iter().map(|s| s.to_vec())),
            Err(error) => failed = Some(error.class()),
        }
    }
    (found, failed)
}

#[test]
fn files_are_split_as_their_format_says() {
    let lines: Vec<Vec<u8>> = vec![b"a".to_vec(), b"".to_vec(), b"b\r".to_vec()];
    assert_eq!(pieces(b"a\r\n\nb\r\r", Format::Lines), ([lines.clone(), lines].concat(), None));
    let fixed = Format::Fixed { size: 2, header: 1, footer: 1 };
    assert_eq!(pieces(b"(abcd)", fixed).0, [b"ab", b"cd", b"ab", b"cd"]);
    assert_eq!(pieces(b"(abc)", fixed), (vec![], Some(Class::InvalidArgument)));
    assert_eq!(pieces(b"(", fixed), (vec![], None));
    let records = [framed(b"one"), framed(b"")].concat();
    assert_eq!(pieces(&records, Format::Records).0, [b"one".to_vec(), vec![], b"one".to_vec(), vec![]]);
}

#[test]
fn every_damage_of_records_is_found_behind_what_comes_before() {
    let content = [framed(b"first"), framed(b"second")].concat();
    let first = framed(b"first").len();
    for at in 0..content.len() {
        let mut flipped = content.clone();
        flipped[at] ^= 4;
        let before = usize::from(at >= first);
        let (found, failed) = pieces(&flipped, Format::Records);
        assert_eq!((found.len(), failed), (before, Some(Class::DataLoss)), "byte {at}");
        let (found, failed) = pieces(&content[..at], Format::Records);
        let whole = at == 0 || at == first;
        assert_eq!(failed, (!whole).then_some(Class::DataLoss), "the first {at} bytes");
        assert_eq!(found.len(), if whole { 2 * before } else { before });
    }
    let endless = [&u64::MAX.to_le_bytes()[..], &framed(b"")[8..]].concat();
    assert_eq!(pieces(&endless, Format::Records).1, Some(Class::DataLoss));
}

/// A predicate that holds for nothing. Somebody may see it go.
struct Never(#[expect(dead_code, reason = "goes with the function")] Mutex<Option<Sender<()>>>);

impl Function for Never {
    fn call(&self, _: &[Option<Tensor>]) -> Result<Leaves> {
        Ok(vec![Some(Tensor::zeros(DType::Bool, &[])?)])
    }

    fn of_columns(&self, columns: &[Option<Tensor>]) -> Result<Leaves> {
        let count = columns[0].as_ref().unwrap().as_slice::<i64>().len();
        Ok(vec![Some(Tensor::zeros(DType::Bool, &[count])?)])
    }

    fn is_pure(&self) -> bool {
        true
    }
}

fn never(gone: Option<Sender<()>>) -> Arc<Never> {
    Arc::new(Never(Mutex::new(gone)))
}

#[test]
fn stages_that_give_nothing_for_long_are_interrupted() {
    let filter = || Box::new(Filter::new(numbers(0, u64::MAX), never(None)));
    let nothing: Open = Arc::new(|_| Ok(numbers(0, 0)));
    let all: [Pull; 5] = [
        filter(),
        Box::new(Skip::new(numbers(0, u64::MAX), usize::MAX)),
        Box::new(Batch::new(filter(), 2, false)),
        Box::new(FlatMap::new(numbers(0, u64::MAX), nothing.clone())),
        Box::new(Interleave::new(numbers(0, u64::MAX), nothing, 2, 1, None)),
    ];
    for mut stage in all {
        INTERRUPTED.set(true);
        let error = stage.pull(64).map(drop).unwrap_err();
        INTERRUPTED.set(false);
        assert!(error.to_string().contains("interrupted"), "{error}");
    }
}

#[test]
fn a_thread_that_finds_nothing_ends_with_who_asks() {
    let (gone, ended) = channel::<()>();
    let (never, numbers) = (never(Some(gone)), numbers(0, u64::MAX));
    let mut ahead = Ahead::new(move || Ok(Box::new(Filter::new(numbers, never))), 4, None, Box::new(|| {}));
    ahead.start().unwrap();
    assert_eq!(ended.try_recv(), Err(TryRecvError::Empty));
    drop(ahead);
    assert_eq!(ended.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
}

/// The same elements one by one.
struct OneByOne(Pull);

impl Stage for OneByOne {
    fn pull(&mut self, _: usize) -> Result<Option<Rows>> {
        self.0.pull(1)?.map(|rows| rows.at(0).map(Rows::one)).transpose()
    }
}

/// Numbers, and texts that say them.
fn rows_of_two(count: usize) -> Pull {
    drop(numbers(0, 0));
    let texts = (0..count).map(|i| i.to_string().into_bytes().into()).collect();
    let texts = Tensor::from_strings(&[count], texts).unwrap();
    let numbers: Vec<i64> = (0..count as i64).collect();
    Box::new(Slices::new(count, vec![Some(Tensor::vector(&numbers)), Some(texts)]))
}

#[test]
fn shuffling_draws_as_python_does() {
    let shuffled = Shuffle::new(numbers(0, 12), (1 << 62) + 3, Some(5), "5".into());
    assert_eq!(values(Box::new(shuffled), 4), [3, 2, 5, 6, 7, 4, 9, 1, 8, 0, 11, 10]);
    let alone = Shuffle::new(numbers(0, 0), 1, None, "-2".into());
    assert_eq!(values(Box::new(alone), 4), [0; 0]);
}

#[test]
fn the_order_does_not_depend_on_how_elements_come_and_are_kept() {
    let order = |source: Pull, size: Option<usize>, piece: usize, limit: usize| {
        let mut stage = Shuffle::new(source, 9, size, String::new()).in_pieces(piece);
        let mut found = Vec::new();
        while let Some(rows) = stage.pull(limit).unwrap() {
            for i in 0..rows.count {
                let leaves = rows.at(i).unwrap();
                let number = leaves[0].as_ref().unwrap().item::<i64>().unwrap();
                assert_eq!(&*leaves[1].as_ref().unwrap().strings()[0], number.to_string().as_bytes());
                found.push(number);
            }
        }
        found
    };
    for size in [Some(1), Some(7), Some(64), Some(1000), None] {
        let due = order(rows_of_two(200), size, 1 << 20, 1);
        assert_eq!(due.iter().collect::<BTreeSet<_>>().len(), 200);
        assert_eq!(order(Box::new(OneByOne(rows_of_two(200))), size, 1 << 20, 50), due, "{size:?}");
        for (piece, limit) in [(1 << 20, 33), (160, 33), (1, 1000)] {
            assert_eq!(order(rows_of_two(200), size, piece, limit), due, "{size:?} {piece} {limit}");
        }
    }
}

#[test]
fn elements_of_several_shapes_are_shuffled_one_by_one() {
    let parts = Batch::new(numbers(0, 40), 3, false);
    let shuffled = Shuffle::new(Box::new(parts), 1, Some(5), "5".into());
    let found = outcomes(Box::new(shuffled), 8);
    let all: BTreeSet<i64> = found.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(all, (0..40).collect());
}

#[test]
fn an_error_comes_where_its_element_would_be_drawn_from() {
    let failing = Map::new(numbers(0, 9), each(|x| (x != 4).then_some(x), true));
    let found = outcomes(Box::new(Shuffle::new(Box::new(failing), 3, Some(2), "2".into())), 1);
    let place = found.iter().position(Result::is_err).unwrap();
    assert_eq!(found.iter().filter(|x| x.is_err()).count(), 1);
    // Until then at most the two in front of it are missing.
    let before: BTreeSet<i64> = found[..place].iter().flat_map(|x| x.clone().unwrap()).collect();
    assert!(before.iter().all(|&x| x < 4) && before.len() >= 2, "{found:?}");
    let all: BTreeSet<i64> = found.into_iter().flatten().flatten().collect();
    assert_eq!(all, (0..9).filter(|&x| x != 4).collect());
}

#[test]
fn what_came_before_is_left_out() {
    for limit in [1, 3, 100] {
        let twice = Map::new(numbers(0, 60), each(|x| Some(x % 7), true));
        assert_eq!(values(Box::new(Unique::new(Box::new(twice))), limit), [0, 1, 2, 3, 4, 5, 6]);
    }
    // Equal bytes of other extents are another element; floats are equal by their bits.
    let column = |values: &[f64], dims: &[usize]| Some(Tensor::from_slice(dims, values).unwrap());
    let rows = column(&[0.0, 1.0, -0.0, 1.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN], &[4, 2]);
    let mut unique = Unique::new(Box::new(Slices::new(4, vec![rows, None])));
    assert_eq!(unique.pull(9).unwrap().unwrap().count, 3);
    let texts = Tensor::from_strings(&[3, 2], ["a", "bc", "ab", "c", "a", "bc"].map(|s| s.as_bytes().into()).to_vec());
    let mut unique = Unique::new(Box::new(Slices::new(3, vec![Some(texts.unwrap())])));
    assert_eq!(unique.pull(9).unwrap().unwrap().count, 2);
    let batches = Batch::new(Box::new(Map::new(numbers(0, 5), each(|_| Some(0), true))), 2, false);
    assert_eq!(outcomes(Box::new(Unique::new(Box::new(batches))), 9), [Ok(vec![0, 0]), Ok(vec![0])]);
}

#[test]
fn windows_are_batched_as_lists_are() {
    for (size, shift, stride, batch) in [(3, 1, 1, 3), (4, 2, 1, 2), (3, 5, 2, 2), (2, 1, 3, 7), (5, 3, 2, 1)] {
        for (drop_windows, drop) in [(false, false), (true, false), (false, true), (true, true)] {
            let due: Vec<Vec<i64>> = (0..23)
                .step_by(shift)
                .map(|start| (start..23).step_by(stride).take(size).collect::<Vec<i64>>())
                .filter(|window| window.len() == size || !drop_windows)
                .flat_map(|window| window.chunks(batch).map(<[i64]>::to_vec).collect::<Vec<_>>())
                .filter(|rows| rows.len() == batch || !drop)
                .collect();
            let windows = Windows { size, shift, stride, drop: drop_windows };
            for limit in [1, 2, 100] {
                for one_by_one in [false, true] {
                    let source = numbers(0, 23);
                    let source = if one_by_one { Box::new(OneByOne(source)) } else { source };
                    let made = WindowBatches::new(source, windows, batch, drop, vec![0]);
                    let found = outcomes(Box::new(made), limit).into_iter().map(Result::unwrap).collect::<Vec<_>>();
                    assert_eq!(found, due, "{windows:?} {batch} {drop} {limit} {one_by_one}");
                }
            }
        }
    }
}

#[test]
fn windows_go_on_behind_an_error_and_have_the_leaves_that_are_asked_for() {
    let failing = Map::new(numbers(0, 8), each(|x| (x != 3).then_some(x), true));
    let windows = Windows { size: 2, shift: 2, stride: 1, drop: false };
    let found = outcomes(Box::new(WindowBatches::new(Box::new(failing), windows, 2, false, vec![0])), 1);
    assert_eq!(found, [Ok(vec![0, 1]), Err("no 3".into()), Ok(vec![2, 4]), Ok(vec![5, 6]), Ok(vec![7])]);
    let mut pairs = WindowBatches::new(rows_of_two(5), windows, 2, true, vec![1, 0]);
    let rows = pairs.pull(9).unwrap().unwrap();
    assert_eq!((rows.count, rows.columns[0].as_ref().unwrap().dims()), (2, &[2, 2][..]));
    assert_eq!(rows.columns[1].as_ref().unwrap().as_slice::<i64>(), [0, 1, 2, 3]);
}

/// Groups of numbers as lists make them: each key with its elements.
fn groups_of(numbers: &[i64], key: fn(i64) -> i64, size: fn(i64) -> usize) -> Vec<(i64, Vec<i64>)> {
    let (mut open, mut found) = (BTreeMap::<i64, Vec<i64>>::new(), Vec::new());
    for &x in numbers {
        let group = open.entry(key(x)).or_default();
        group.push(x);
        if group.len() == size(key(x)) {
            found.extend(open.remove_entry(&key(x)));
        }
    }
    found.into_iter().chain(open).collect()
}

fn batches(size: Given<i64>, numbers: Option<Arc<Each>>) -> Batches {
    Batches { numbers: numbers.map(|function| -> Arc<dyn Function> { function }), size, drop: false, pads: None }
}

#[test]
fn groups_come_as_lists_make_them() {
    let due: Vec<Vec<i64>> = groups_of(&(0..50).collect::<Vec<_>>(), |x| x * x % 7, |key| 1 + key as usize)
        .into_iter()
        .map(|g| g.1)
        .collect();
    for (limit, pure, one_by_one) in [(1, true, false), (9, true, true), (100, false, false)] {
        let source = if one_by_one { Box::new(OneByOne(numbers(0, 50))) } else { numbers(0, 50) };
        let size = WindowSize::Of(each(|key| Some(1 + key), true));
        let reduction = batches(Given::Of(0), Some(each(|key| Some(1 + key), true)));
        let groups = Groups::new(source, each(|x| Some(x * x % 7), pure), size);
        let made = groups.flat_map(Arc::new(move |key, window| reduction.open(key, window)));
        let found: Vec<_> = outcomes(Box::new(made), limit).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, due, "{limit} {pure} {one_by_one}");
    }
}

#[test]
fn groups_go_on_behind_errors_of_keys_and_sizes() {
    let made = |size: WindowSize| {
        let reduction = batches(Given::Fixed(9), None);
        let key = each(|x| (x != 3).then_some(x % 2), true);
        let groups = Groups::new(numbers(0, 8), key, size);
        outcomes(Box::new(groups.flat_map(Arc::new(move |key, window| reduction.open(key, window)))), 1)
    };
    let of = |rows: &[i64]| Ok(rows.to_vec());
    assert_eq!(made(WindowSize::Fixed(2)), [of(&[0, 2]), Err("no 3".into()), of(&[1, 5]), of(&[4, 6]), of(&[7])]);
    let zero = "group_by_window: the window of key 0 has size 0";
    let found = made(WindowSize::Of(each(|key| Some(3 * key), true)));
    let due = [Err(zero.into()), Err(zero.into()), Err("no 3".into()), Err(zero.into()), Err(zero.into())];
    assert_eq!(found[..5], due);
    assert_eq!(found[5..], [of(&[1, 5, 7]), of(&[0, 2, 4, 6])]);
}

/// Counts up to each number, as vectors of different lengths.
fn ranges(lengths: &[i64]) -> Pull {
    let ranges = lengths.iter().map(|&n| {
        let range: Vec<i64> = (0..n).collect();
        Rows::one(vec![Some(Tensor::vector(&range)), None])
    });
    Box::new(AtHand::new(ranges.collect()))
}

#[test]
fn elements_are_padded_to_the_largest_or_to_a_size() {
    let made = |shape: Vec<Option<usize>>, drop: bool| {
        let padding = Some(Padding { shape, value: Tensor::scalar(-1i64) });
        outcomes(Box::new(PaddedBatch::new(ranges(&[1, 0, 2, 2, 1]), 2, drop, vec![padding, None])), 5)
    };
    let of = |rows: &[i64]| Ok(rows.to_vec());
    assert_eq!(made(vec![None], false), [of(&[0, -1]), of(&[0, 1, 0, 1]), of(&[0])]);
    assert_eq!(made(vec![Some(3)], true), [of(&[0, -1, -1, -1, -1, -1]), of(&[0, 1, -1, 0, 1, -1])]);
    let small = Err("padded_batch: cannot pad shape [2] to the smaller shape [1]".to_owned());
    assert_eq!(made(vec![Some(1)], false), [of(&[0, -1]), small, of(&[0])]);
    let rank = "padded_batch: argument 'padded_shapes' has rank 2 for a component of shape [1]";
    assert_eq!(made(vec![Some(1), None], true)[0], Err(rank.to_owned()));
}

#[test]
fn matrices_and_texts_are_padded_at_their_ends() {
    let matrix = |rows: usize, columns: usize| {
        let values: Vec<i32> = (1..=(rows * columns) as i32).collect();
        let text = Tensor::from_strings(&[rows], (0..rows).map(|i| vec![b'a' + i as u8].into()).collect()).unwrap();
        Rows::one(vec![Some(Tensor::from_slice(&[rows, columns], &values).unwrap()), Some(text)])
    };
    let source = AtHand::new(vec![matrix(1, 3), matrix(2, 2), matrix(0, 1)]);
    let dot = Tensor::from_strings(&[], vec![b"."[..].into()]).unwrap();
    let paddings = vec![
        Some(Padding { shape: vec![None, Some(4)], value: Tensor::scalar(7i32) }),
        Some(Padding { shape: vec![None], value: dot }),
    ];
    let mut stage = PaddedBatch::new(Box::new(source), 3, false, paddings);
    let rows = stage.pull(1).unwrap().unwrap();
    let (numbers, texts) = (rows.columns[0].as_ref().unwrap(), rows.columns[1].as_ref().unwrap());
    assert_eq!(numbers.dims(), [3, 2, 4]);
    let due = [1, 2, 3, 7, 7, 7, 7, 7, 1, 2, 7, 7, 3, 4, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];
    assert_eq!(numbers.as_slice::<i32>(), due);
    let texts: Vec<&[u8]> = texts.strings().iter().map(|text| &text[..]).collect();
    assert_eq!(texts, [b"a", b".", b"a", b"b", b".", b"."]);
}

#[test]
fn paddings_larger_than_the_memory_are_errors() {
    for value in [Tensor::from_strings(&[], vec![b"."[..].into()]).unwrap(), Tensor::scalar(0i64)] {
        for shape in [[1 << 62, 1], [1 << 32, 1 << 32], [1 << 45, 1 << 4]] {
            let element = value.reshaped(&[1, 1]).unwrap();
            let source = Box::new(AtHand::new(vec![Rows::one(vec![Some(element)])]));
            let padding = Padding { shape: shape.map(Some).to_vec(), value: value.clone() };
            let error = PaddedBatch::new(source, 1, false, vec![Some(padding)]).pull(1).unwrap_err();
            assert_eq!(error.class(), Class::ResourceExhausted, "{error}");
        }
    }
}

#[test]
fn groups_of_several_lengths_are_padded_by_their_key() {
    let length = each_of(|leaves| leaves[0].as_ref().unwrap().len() as i64);
    let pads = Pads { shape: vec![Some(Given::Of(0))], value: Given::Fixed(Tensor::scalar(-1i64)) };
    let numbers = Some(each(|key| Some(2 * key), true) as Arc<dyn Function>);
    let reduction = Batches { numbers, size: Given::Fixed(2), drop: true, pads: Some(vec![Some(pads), None]) };
    let groups = Groups::new(ranges(&[1, 2, 1, 0, 2, 0, 3]), length, WindowSize::Fixed(2));
    let made = groups.flat_map(Arc::new(move |key, window| reduction.open(key, window)));
    let of = |rows: &[i64]| Ok(rows.to_vec());
    assert_eq!(outcomes(Box::new(made), 4), [of(&[0, -1, 0, -1]), of(&[0, 1, -1, -1, 0, 1, -1, -1]), of(&[])]);
}

/// A function of the leaves of an element that may not take columns.
struct OfLeaves(fn(&[Option<Tensor>]) -> i64);

fn each_of(of: fn(&[Option<Tensor>]) -> i64) -> Arc<OfLeaves> {
    Arc::new(OfLeaves(of))
}

impl Function for OfLeaves {
    fn call(&self, leaves: &[Option<Tensor>]) -> Result<Leaves> {
        Ok(vec![Some(Tensor::scalar((self.0)(leaves)))])
    }

    fn of_columns(&self, _: &[Option<Tensor>]) -> Result<Leaves> {
        Err(Error::invalid("one by one"))
    }

    fn is_pure(&self) -> bool {
        false
    }
}

#[test]
fn windows_are_opened_one_after_the_other() {
    for one_by_one in [false, true] {
        let source = if one_by_one { Box::new(OneByOne(numbers(0, 9))) } else { numbers(0, 9) };
        let windows = WindowRows::new(source, Windows { size: 3, shift: 4, stride: 2, drop: false });
        let made = windows.flat_map(|window| Ok(Box::new(Take::new(Box::new(AtHand::new(window)), 2))));
        assert_eq!(values(Box::new(made), 5), [0, 2, 4, 6, 8], "{one_by_one}");
    }
}
