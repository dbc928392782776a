//! The memory of the devices: addresses that nobody can read or write, and the bytes of those addresses elsewhere, where the driver and
//! its kernels find them.

use std::collections::{BTreeMap, VecDeque};

/// The address space of all devices together.
const SPACE: usize = 1 << 36;
/// The guard zones before and behind a block.
const RED: usize = 256;
const RED_BYTE: u8 = 0xFD;
const FRESH_BYTE: u8 = 0xFF;
const FREED_BYTE: u8 = 0xFE;
/// Blocks start at multiples of this.
const ALIGN: usize = 256;

struct Block {
    len: usize,
    device: usize,
}

/// A guard zone that nobody has written: at most so long.
static WHOLE: [u8; RED + ALIGN] = [RED_BYTE; RED + ALIGN];

/// The bytes of a guard zone that were written.
fn written(zone: &[u8]) -> impl Iterator<Item = usize> {
    // Nearly all zones are whole, and comparing them at once is quick.
    let looked = if *zone == WHOLE[..zone.len()] { &[] } else { zone };
    looked.iter().enumerate().filter(|&(_, &b)| b != RED_BYTE).map(|(at, _)| at)
}

/// One range of addresses, and one of memory that is as long.
pub(crate) struct Arena {
    /// Where the addresses start: code of the host that follows one of them ends there.
    start: usize,
    /// Where their bytes start.
    memory: usize,
    /// Bytes from the start that were handed out once.
    used: usize,
    live: BTreeMap<usize, Block>,
    /// Freed blocks by their whole size, oldest first.
    freed: BTreeMap<usize, VecDeque<usize>>,
    /// Live bytes of each device.
    held: BTreeMap<usize, usize>,
}

fn reserve(protection: libc::c_int) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: reserves addresses, and touches no memory that exists.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), SPACE, protection, flags, -1, 0) };
    (start != libc::MAP_FAILED).then_some(start as usize)
}

impl Arena {
    /// An arena without blocks; `None` where the address space cannot be had.
    pub(crate) fn new() -> Option<Arena> {
        Some(Arena {
            start: reserve(libc::PROT_NONE)?,
            memory: reserve(libc::PROT_READ | libc::PROT_WRITE)?,
            used: 0,
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            held: BTreeMap::new(),
        })
    }

    /// Where the bytes of an address are; other addresses are those of the host.
    pub(crate) fn place(&self, address: u64) -> *mut u8 {
        let address = address as usize;
        if self.contains(address as u64) { (address - self.start + self.memory) as *mut u8 } else { address as *mut u8 }
    }

    /// The address whose byte is at a place.
    pub(crate) fn address(&self, place: u64) -> u64 {
        let [start, len] = self.range();
        if (start..start + len).contains(&place) { place - start + self.start as u64 } else { place }
    }

    /// A block of unspecified contents; `None` where `limit` live bytes of the device would be passed.
    pub(crate) fn allocate(&mut self, device: usize, len: usize, limit: usize) -> Option<u64> {
        let held = self.held.get(&device).copied().unwrap_or(0);
        if held.checked_add(len).is_none_or(|sum| sum > limit) {
            return None;
        }
        let whole = len.next_multiple_of(ALIGN) + 2 * RED;
        let address = match self.freed.get_mut(&whole).and_then(VecDeque::pop_front) {
            Some(address) => address,
            None => {
                if whole > SPACE - self.used {
                    return None;
                }
                let address = self.start + self.used + RED;
                self.used += whole;
                address
            }
        };
        let at = self.place(address as u64);
        // SAFETY: the block with its red zones is within the arena, and nobody else has it.
        unsafe {
            std::ptr::write_bytes(at.sub(RED), RED_BYTE, whole);
            std::ptr::write_bytes(at, FRESH_BYTE, len);
        }
        self.live.insert(address, Block { len, device });
        *self.held.entry(device).or_default() += len;
        Some(address as u64)
    }

    /// Gives a block back.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn free(&mut self, address: u64) -> Result<(), String> {
        let address = address as usize;
        let Some(block) = self.live.remove(&address) else {
            return Err(format!("{address:#x} was freed, and is no live block"));
        };
        let whole = block.len.next_multiple_of(ALIGN) + 2 * RED;
        let checked = self.check(address, &block);
        // SAFETY: the block is within the arena.
        unsafe { std::ptr::write_bytes(self.place(address as u64), FREED_BYTE, block.len) };
        self.freed.entry(whole).or_default().push_back(address);
        if let Some(held) = self.held.get_mut(&block.device) {
            *held -= block.len;
        }
        checked
    }

    /// The guard zones in front of a block and behind it.
    #[expect(clippy::mut_from_ref, reason = "the memory is no part of what is borrowed")]
    fn zones(&self, address: usize, block: &Block) -> [&mut [u8]; 2] {
        let at = self.place(address as u64);
        let after = block.len.next_multiple_of(ALIGN) - block.len + RED;
        // SAFETY: the guard zones of a live block are within the arena, and are looked at by one caller at a time.
        unsafe {
            [(at.sub(RED), RED), (at.add(block.len), after)].map(|(at, len)| std::slice::from_raw_parts_mut(at, len))
        }
    }

    fn check(&self, address: usize, block: &Block) -> Result<(), String> {
        let [before, behind] = self.zones(address, block);
        if let Some(at) = written(before).last() {
            return Err(format!("byte {} in front of a block of {} bytes was written", RED - at, block.len));
        }
        match written(behind).next() {
            Some(at) => Err(format!("byte {at} behind a block of {} bytes was written", block.len)),
            None => Ok(()),
        }
    }

    /// What was written outside of the live blocks; the zones are made whole again.
    pub(crate) fn check_all(&mut self) -> Result<(), String> {
        let mut result = Ok(());
        for (&address, block) in &self.live {
            let checked = self.check(address, block);
            if checked.is_err() {
                self.zones(address, block).into_iter().for_each(|zone| zone.fill(RED_BYTE));
            }
            result = result.and(checked);
        }
        result
    }

    /// Whether `len` bytes from an address are within a live block.
    pub(crate) fn is_live(&self, address: u64, len: usize) -> bool {
        let address = address as usize;
        self.live
            .range(..=address)
            .next_back()
            .is_some_and(|(&start, block)| len <= block.len && address - start <= block.len - len)
    }

    /// The memory: where it starts, and how long it is.
    pub(crate) fn range(&self) -> [u64; 2] {
        [self.memory as u64, SPACE as u64]
    }

    /// The start and the length of the live block at an address.
    pub(crate) fn block(&self, address: u64) -> Option<(u64, usize)> {
        let (&start, block) = self.live.range(..=address as usize).next_back()?;
        (address as usize - start < block.len).then_some((start as u64, block.len))
    }

    /// The device that has memory at an address.
    pub(crate) fn device_of(&self, address: u64) -> Option<usize> {
        let (&start, block) = self.live.range(..=address as usize).next_back()?;
        (address as usize - start < block.len).then_some(block.device)
    }

    /// Whether an address is the arena's.
    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.start..self.start + SPACE).contains(&(address as usize))
    }

    /// The live bytes of a device.
    pub(crate) fn held(&self, device: usize) -> usize {
        self.held.get(&device).copied().unwrap_or(0)
    }

    /// The number of live blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.live.len()
    }
}
