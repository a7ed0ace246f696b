//! Files that are kept, and paths that lead nowhere.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::Code;

use super::*;

/// A folder of a test's own, with another beside it that nobody may reach.
struct Ground {
    all: PathBuf,
}

impl Ground {
    fn new() -> Ground {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tickframe-storage-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let all = std::env::temp_dir().join(name);
        std::fs::create_dir_all(all.join("mine")).expect("a folder");
        std::fs::create_dir_all(all.join("others")).expect("a folder");
        std::fs::write(all.join("others/secret"), b"a secret").expect("a file");
        Ground { all }
    }

    fn mine(&self) -> PathBuf {
        self.all.join("mine")
    }

    fn storage(&self, limits: &Limits) -> Storage {
        Storage::open(&self.mine(), limits).expect("a folder that is there")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.all);
    }
}

fn saving(path: &str, contents: &[u8]) -> SaveFile {
    SaveFile { allow_overwrite: false, path: path.to_owned(), contents: bytes::Bytes::copy_from_slice(contents) }
}

fn at(path: &str) -> OfPath {
    OfPath { path: path.to_owned() }
}

fn fetching(path: &str) -> FetchFile {
    FetchFile { path: path.to_owned(), etag: None }
}

fn moving(old: &str, new: &str) -> MoveItem {
    MoveItem { old_path: old.to_owned(), new_path: new.to_owned(), allow_overwrite: false }
}

fn listed(storage: &Storage, path: &str) -> Vec<(String, i32, i64)> {
    let of = ListItems { path: path.to_owned(), filter_glob: None };
    let found = storage.list(&of).expect("it is there").items;
    found.into_iter().map(|item| (item.path, item.kind, item.size)).collect()
}

/// Each call, with this path in each of its places.
fn all(storage: &Storage, path: &str) -> Vec<Status> {
    let list = ListItems { path: path.to_owned(), filter_glob: None };
    let calls: [Result<(), Status>; 7] = [
        storage.list(&list).map(drop),
        storage.fetch(&fetching(path)).map(drop),
        storage.save(&SaveFile { allow_overwrite: true, ..saving(path, b"x") }).map(drop),
        storage.rename(&moving(path, "/new")),
        storage.rename(&MoveItem { allow_overwrite: true, ..moving("/a", path) }),
        storage.create(&at(path)),
        storage.delete(&at(path)),
    ];
    calls.into_iter().filter_map(Result::err).collect()
}

/// Each call refuses a path through a link as one that is not there, and tells nothing of the folder.
#[cfg(unix)]
fn all_refuse_link(storage: &Storage, path: &str) {
    let refused = all(storage, path);
    assert_eq!(refused.len(), 7, "{path}");
    for status in refused {
        let known = [Code::NotFound, Code::AlreadyExists, Code::FailedPrecondition];
        assert!(known.contains(&status.code()), "{path}: {status}");
        assert!(!status.message().contains("tickframe-storage"), "{status}");
    }
}

#[test]
fn files_are_kept_listed_moved_and_removed() {
    let ground = Ground::new();
    let storage = ground.storage(&Limits::default());
    storage.create(&at("/notes")).expect("a folder");
    let saved = storage.save(&saving("/notes/a.py", b"one")).expect("a file");
    storage.save(&saving("/top", b"")).expect("a file");
    assert_eq!(listed(&storage, "/"), [("notes".to_owned(), 1, 0), ("top".to_owned(), 2, 0)]);
    assert_eq!(listed(&storage, "/notes/"), [("a.py".to_owned(), 2, 3)]);
    let found = storage.fetch(&fetching("/notes/a.py")).expect("it is there");
    assert_eq!((&found.contents[..], &found.etag), (&b"one"[..], &saved.etag));
    let known = FetchFile { etag: saved.etag, ..fetching("/notes/a.py") };
    assert!(storage.fetch(&known).expect("it is there").contents.is_empty());
    let twice = storage.save(&saving("/notes/a.py", b"two")).expect_err("it is there already");
    assert_eq!(twice.code(), Code::AlreadyExists);
    storage.save(&SaveFile { allow_overwrite: true, ..saving("/notes/a.py", b"three") }).expect("it may be replaced");
    assert_eq!(&storage.fetch(&known).expect("it is there").contents[..], b"three");
    let full = storage.delete(&at("/notes")).expect_err("it is not empty");
    assert_eq!(full.code(), Code::FailedPrecondition);
    assert_eq!(storage.rename(&moving("/notes/a.py", "/top")).expect_err("it is there").code(), Code::AlreadyExists);
    storage.rename(&moving("/notes/a.py", "/b.py")).expect("it moves");
    storage.rename(&moving("/notes", "/papers")).expect("it moves");
    storage.delete(&at("/papers")).expect("it is empty");
    storage.delete(&at("/b.py")).expect("it is there");
    assert_eq!(listed(&storage, ""), [("top".to_owned(), 2, 0)]);
    assert_eq!(storage.fetch(&fetching("/b.py")).expect_err("it is gone").code(), Code::NotFound);
    let inside = storage.create(&at("/d")).and_then(|()| storage.rename(&moving("/d", "/d/e")));
    assert_eq!(inside.expect_err("it has no place there").code(), Code::InvalidArgument);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let ground = Ground::new();
    let storage = ground.storage(&Limits::default());
    storage.save(&saving("/a", b"mine")).expect("a file");
    let deep = format!("/{}", vec!["a"; 100].join("/"));
    let long = format!("/{}", "a".repeat(300));
    let longest = "/a".repeat(3000);
    let wide = format!("/{}", "é".repeat(128));
    for path in [
        "others/secret",
        "../others/secret",
        "/../others/secret",
        "/./a",
        "/a/../../others/secret",
        "//others/secret",
        "/a//b",
        "//",
        "///",
        "/a//",
        "/a/.",
        "/a/..",
        "/a/./b",
        "/..",
        "/../",
        "/. /../..",
        "..",
        ".",
        "a",
        " /a",
        "~/a",
        "file:///a",
        "C:\\a",
        "/a\0",
        "/\u{7f}",
        "/a\r",
        "/\u{85}",
        "/\0",
        "/a\0b",
        "/a\nb",
        "/..\\others",
        "/.tickframe-x",
        "/d/.tickframe-x",
        &deep,
        &long,
        &longest,
        &wide,
    ] {
        let refused = all(&storage, path);
        assert_eq!(refused.len(), 7, "{path:?}");
        for status in refused {
            assert_eq!(status.code(), Code::InvalidArgument, "{path:?}: {status}");
        }
    }
    // The folder itself is listed, and nothing else.
    assert_eq!(all(&storage, "/").len(), 6);
    assert_eq!(std::fs::read(ground.all.join("others/secret")).expect("it stays"), b"a secret");
    assert_eq!(listed(&storage, "/"), [("a".to_owned(), 2, 4)]);
}

#[cfg(unix)]
#[test]
fn what_only_looks_like_a_way_out_is_a_name() {
    let ground = Ground::new();
    let storage = ground.storage(&Limits::default());
    let wide = "é".repeat(127);
    let names = ["...", "..a", "a..", "%2e%2e", "%2f", "~", "-", "*", " ", "\u{2024}\u{2024}", "\u{ff0f}", &wide];
    for name in names {
        storage.save(&saving(&format!("/{name}"), b"mine")).unwrap_or_else(|status| panic!("{name:?}: {status}"));
        assert_eq!(&storage.fetch(&fetching(&format!("/{name}"))).expect("it is there").contents[..], b"mine");
    }
    let mut kept: Vec<String> = listed(&storage, "/").into_iter().map(|(name, ..)| name).collect();
    kept.sort();
    let mut wanted = names.map(str::to_owned);
    wanted.sort();
    assert_eq!(kept, wanted);
    assert_eq!(std::fs::read_dir(ground.mine()).expect("it is there").count(), names.len());
}

#[test]
fn a_listed_folder_is_told_in_one_form() {
    let ground = Ground::new();
    let storage = ground.storage(&Limits::default());
    storage.create(&at("/d")).and_then(|()| storage.create(&at("/d/e/"))).expect("folders");
    for (path, canonical) in [("", "/"), ("/", "/"), ("/d", "/d"), ("/d/", "/d"), ("/d/e", "/d/e"), ("/d/e/", "/d/e")] {
        let of = ListItems { path: path.to_owned(), filter_glob: None };
        assert_eq!(storage.list(&of).expect("it is there").canonical_path, canonical, "{path:?}");
    }
}

#[cfg(unix)]
#[test]
fn no_chain_of_links_leads_out() {
    use std::os::unix::fs::symlink;
    let ground = Ground::new();
    std::fs::create_dir_all(ground.mine().join("d/e")).expect("a folder");
    let link = |to: &str, at: &str| symlink(to, ground.mine().join(at)).expect("a link");
    link("../../others", "d/up");
    link("../../../others/secret", "d/e/secret");
    link("up", "d/over");
    link("/", "top");
    link("/proc/self/root", "system");
    link("loop", "loop");
    link("../nowhere", "dangling");
    link("../others/made", "to_be_made");
    link("d", "inside");
    // The folder itself may be found by a link.
    symlink(ground.mine(), ground.all.join("by_link")).expect("a link");
    let storage = Storage::open(&ground.all.join("by_link"), &Limits::default()).expect("it leads to a folder");
    storage.save(&saving("/a", b"mine")).expect("a file");
    for path in [
        "/d/up",
        "/d/up/secret",
        "/d/e/secret",
        "/d/over",
        "/d/over/secret",
        "/top",
        "/top/etc",
        "/system/etc/passwd",
        "/loop",
        "/loop/loop",
        "/dangling",
        "/to_be_made",
        "/inside",
        "/inside/e",
    ] {
        all_refuse_link(&storage, path);
    }
    assert_eq!(listed(&storage, "/d"), [("e".to_owned(), 1, 0)]);
    assert_eq!(listed(&storage, "/"), [("a".to_owned(), 2, 4), ("d".to_owned(), 1, 0)]);
    // A link that is renamed with its folder stays what it was.
    storage.rename(&moving("/d", "/moved")).expect("it moves");
    assert_eq!(storage.fetch(&fetching("/moved/up/secret")).expect_err("no way").code(), Code::NotFound);
    assert_eq!(std::fs::read(ground.all.join("others/secret")).expect("it stays"), b"a secret");
    assert_eq!(std::fs::read_dir(ground.all.join("others")).expect("it is there").count(), 1);
    assert!(!ground.all.join("nowhere").exists());
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let ground = Ground::new();
    let storage = ground.storage(&Limits::default());
    storage.save(&saving("/a", b"mine")).expect("a file");
    symlink(ground.all.join("others"), ground.mine().join("out")).expect("a link");
    symlink(ground.all.join("others/secret"), ground.mine().join("file")).expect("a link");
    symlink("a", ground.mine().join("near")).expect("a link");
    symlink(".", ground.mine().join("self")).expect("a link");
    assert_eq!(listed(&storage, "/"), [("a".to_owned(), 2, 4)]);
    for path in ["/out", "/out/secret", "/out/new", "/file", "/near", "/self", "/self/a"] {
        all_refuse_link(&storage, path);
    }
    assert_eq!(std::fs::read(ground.all.join("others/secret")).expect("it stays"), b"a secret");
    assert_eq!(std::fs::read_dir(ground.all.join("others")).expect("it is there").count(), 1);
}

/// A folder that becomes a link and a folder again, while others use it.
#[cfg(target_os = "linux")]
#[test]
fn who_replaces_a_folder_by_a_link_leads_nobody_out() {
    use std::os::unix::fs::symlink;
    let ground = Ground::new();
    let storage = ground.storage(&Limits::default());
    std::fs::create_dir(ground.mine().join("d")).expect("a folder");
    std::fs::write(ground.mine().join("d/secret"), b"mine").expect("a file");
    symlink(ground.all.join("others"), ground.all.join("link")).expect("a link");
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (d, link, aside) = (ground.mine().join("d"), ground.all.join("link"), ground.all.join("aside"));
            while !over.load(Ordering::Relaxed) {
                for (from, to) in [(&d, &aside), (&link, &d), (&d, &link), (&aside, &d)] {
                    std::fs::rename(from, to).expect("it moves");
                }
            }
        });
        for turn in 0..5000 {
            if let Ok(found) = storage.fetch(&fetching("/d/secret")) {
                assert_eq!(&found.contents[..], b"mine");
            }
            if turn % 50 == 0 {
                _ = storage.save(&SaveFile { allow_overwrite: true, ..saving("/d/new", b"x") });
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_dir(ground.all.join("others")).expect("it is there").count(), 1);
}

#[test]
fn files_have_limits() {
    let ground = Ground::new();
    let limits = Limits { storage_file: 100, storage_files: 4, storage: 250, ..Limits::default() };
    let storage = ground.storage(&limits);
    let refused = |done: Result<SavedFile, Status>| done.err().map(|status| status.code());
    assert_eq!(refused(storage.save(&saving("/a", &[0; 101]))), Some(Code::ResourceExhausted));
    for path in ["/a", "/b"] {
        assert_eq!(refused(storage.save(&saving(path, &[0; 100]))), None);
    }
    assert_eq!(refused(storage.save(&saving("/c", &[0; 51]))), Some(Code::ResourceExhausted));
    // What is replaced makes room.
    assert_eq!(refused(storage.save(&SaveFile { allow_overwrite: true, ..saving("/a", &[0; 50]) })), None);
    assert_eq!(refused(storage.save(&saving("/c", &[0; 51]))), None);
    storage.create(&at("/d")).expect("there is room for one more");
    assert_eq!(storage.create(&at("/e")).expect_err("there is none").code(), Code::ResourceExhausted);
    assert_eq!(refused(storage.save(&saving("/d/f", b""))), Some(Code::ResourceExhausted));
    // What others put there is no longer than what is sent.
    std::fs::write(ground.mine().join("d/long"), [0; 101]).expect("a file");
    assert_eq!(storage.fetch(&fetching("/d/long")).expect_err("it is too long").code(), Code::ResourceExhausted);
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let ground = Ground::new();
    for wrong in ["nothing", "others/secret"] {
        assert!(Storage::open(&ground.all.join(wrong), &Limits::default()).is_err(), "{wrong}");
    }
}
