//! Dropping long chains of values without recursion.

use crate::sync::local;
use std::any::Any;
use std::cell::RefCell;

local! {
    /// `Some` while this thread drops a value by `release`: values released by that drop are queued here.
    static LINE: RefCell<Option<Vec<Box<dyn Any>>>> = RefCell::new(None);
}

/// Drops `value`. Values that its drop passes to `release` in turn are queued and dropped afterwards, not nested.
///
/// So a chain in which every link releases the next is dropped with a flat stack, whatever its length.
pub fn release<T: 'static>(value: T) {
    let mut boxed: Option<Box<dyn Any>> = Some(Box::new(value));
    let leads = LINE.try_with(|line| match &mut *line.borrow_mut() {
        Some(line) => {
            line.extend(boxed.take());
            false
        }
        line => {
            *line = Some(Vec::new());
            true
        }
    });
    match leads {
        Ok(true) => drop_in_line(boxed),
        // In line behind somebody else, or in a thread that is ending: then the stack is what there is.
        Ok(false) | Err(_) => drop(boxed),
    }
}

fn drop_in_line(first: Option<Box<dyn Any>>) {
    /// Ends the queue even if a drop panics; unwinding drops the rest.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            let rest = LINE.try_with(|line| line.borrow_mut().take());
            drop(rest);
        }
    }
    let _end = End;
    let mut next = first;
    while let Some(value) = next {
        drop(value);
        next = LINE.with(|line| line.borrow_mut().as_mut().and_then(Vec::pop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Link(Option<Box<Link>>);
    impl Drop for Link {
        fn drop(&mut self) {
            if let Some(next) = self.0.take() {
                release(next);
            }
        }
    }

    #[test]
    fn a_chain_of_a_million_links_needs_no_stack() {
        let body = || {
            let mut chain = Link(None);
            for _ in 0..1_000_000 {
                chain = Link(Some(Box::new(chain)));
            }
            drop(chain);
        };
        let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(body).expect("a thread");
        thread.join().expect("no overflow");
    }
}
