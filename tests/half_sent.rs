//! Messages that begin and never end: a server holds no more of one than came of it, whatever length it says that it has.

use bytes::Bytes;
use flight::testing::pages::{Split, messages, uploaded, whole};
use tokio::runtime::Runtime;

/// The length that a message says that it has, and the longest that is read.
const SAYS: usize = 16 << 20;
/// So many are begun at one time.
const MESSAGES: u64 = 500;
/// What all of them may take, where so little came that it does not count.
const AT_LEAST: u64 = 64 << 20;
/// What they may take of each byte that came.
const EACH: u64 = 16;

/// The beginning of a message: its frame, and so many bytes of its one field.
fn begun(tag: &[u8], came: usize) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((SAYS as u32).to_be_bytes());
    bytes.extend(tag);
    prost::encoding::encode_varint(SAYS as u64 - 10, &mut bytes);
    bytes.extend(vec![0; came]);
    bytes
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// The most that one message takes, of as many bytes as came in pieces of this size.
fn most(bytes: &[u8], each: usize, read: impl FnOnce(&Runtime, Split)) -> u64 {
    let split = Split::new(bytes.chunks(each).map(Bytes::copy_from_slice));
    let runtime = runtime();
    allocation_counter::measure(|| read(&runtime, split)).bytes_max
}

#[test]
fn a_message_takes_memory_for_what_came_of_it() {
    // A header, and rows.
    for tag in [&[0x12][..], &[0xc2, 0x3e]] {
        for (came, each) in [(0, 1), (1, 1), (1000, 1), (1000, 100), (100_000, 1000), (1 << 20, 16 << 10)] {
            let bytes = begun(tag, came);
            let bound = AT_LEAST.max(EACH * bytes.len() as u64 * MESSAGES);
            let readers: [(&str, u64); 3] = [
                ("one", most(&bytes, each, |runtime, split| drop(runtime.block_on(whole(split, SAYS))))),
                ("many", most(&bytes, each, |runtime, split| drop(runtime.block_on(messages(split, SAYS))))),
                ("rows", most(&bytes, each, |runtime, split| drop(runtime.block_on(uploaded(split, SAYS))))),
            ];
            for (reader, most) in readers {
                let all = most * MESSAGES;
                assert!(all <= bound, "{reader}, {came} bytes by {each}: {MESSAGES} take {all}, of at most {bound}");
            }
        }
    }
}
