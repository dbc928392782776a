//! The memory of the devices: one arena that the host may touch only while the driver works.

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

/// One range of addresses, which is closed to the host between calls of the driver.
pub(crate) struct Arena {
    start: usize,
    /// Bytes from the start that were handed out once.
    used: usize,
    live: BTreeMap<usize, Block>,
    /// Freed blocks by their whole size, oldest first.
    freed: BTreeMap<usize, VecDeque<usize>>,
    /// Live bytes of each device.
    held: BTreeMap<usize, usize>,
    open: bool,
}

impl Arena {
    /// An arena without blocks; `None` where the address space cannot be had.
    pub(crate) fn new() -> Option<Arena> {
        // SAFETY: reserves addresses, and touches no memory that exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SPACE,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        (start != libc::MAP_FAILED).then(|| Arena {
            start: start as usize,
            used: 0,
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            held: BTreeMap::new(),
            open: false,
        })
    }

    /// Lets the driver at the memory, or closes it to everybody.
    pub(crate) fn set_open(&mut self, open: bool) {
        const PAGE: usize = 4096;
        if open == self.open || self.used == 0 {
            self.open = open && self.used > 0;
            return;
        }
        let protection = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        // SAFETY: the range was reserved by `new`, and starts at a page.
        unsafe { libc::mprotect(self.start as *mut _, self.used.next_multiple_of(PAGE), protection) };
        self.open = open;
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
                self.set_open(false);
                self.used += whole;
                address
            }
        };
        self.set_open(true);
        // SAFETY: the block with its red zones is within the arena, which is open, and nobody else has it.
        unsafe {
            std::ptr::write_bytes((address - RED) as *mut u8, RED_BYTE, whole);
            std::ptr::write_bytes(address as *mut u8, FRESH_BYTE, len);
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
        self.set_open(true);
        // SAFETY: the block is within the arena, which is open.
        unsafe { std::ptr::write_bytes(address as *mut u8, FREED_BYTE, block.len) };
        self.freed.entry(whole).or_default().push_back(address);
        if let Some(held) = self.held.get_mut(&block.device) {
            *held -= block.len;
        }
        checked
    }

    fn check(&mut self, address: usize, block: &Block) -> Result<(), String> {
        self.set_open(true);
        let after = block.len.next_multiple_of(ALIGN) - block.len + RED;
        // SAFETY: the red zones of a live block are within the arena, which is open.
        let (before, behind) = unsafe {
            (
                std::slice::from_raw_parts((address - RED) as *const u8, RED),
                std::slice::from_raw_parts((address + block.len) as *const u8, after),
            )
        };
        if let Some(at) = before.iter().rposition(|&b| b != RED_BYTE) {
            return Err(format!("byte {} in front of a block of {} bytes was written", RED - at, block.len));
        }
        match behind.iter().position(|&b| b != RED_BYTE) {
            Some(at) => Err(format!("byte {at} behind a block of {} bytes was written", block.len)),
            None => Ok(()),
        }
    }

    /// What was written outside of the live blocks; the zones are made whole again.
    pub(crate) fn check_all(&mut self) -> Result<(), String> {
        let live = std::mem::take(&mut self.live);
        let mut result = Ok(());
        for (&address, block) in &live {
            let checked = self.check(address, block);
            if checked.is_err() {
                let after = block.len.next_multiple_of(ALIGN) - block.len + RED;
                // SAFETY: the red zones of a live block are within the arena, which `check` opened.
                unsafe {
                    std::ptr::write_bytes((address - RED) as *mut u8, RED_BYTE, RED);
                    std::ptr::write_bytes((address + block.len) as *mut u8, RED_BYTE, after);
                }
            }
            result = result.and(checked);
        }
        self.live = live;
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

    /// All addresses: the first, and how many there are.
    pub(crate) fn range(&self) -> [u64; 2] {
        [self.start as u64, SPACE as u64]
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
