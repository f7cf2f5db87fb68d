import Foundation
import Support
import TestSupport
import Testing

@Suite(.ownThread) struct AtomicFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func theTargetIsReplacedWhenItIsWhole() throws {
    let target = folder.file("out")
    try AtomicFile.write([1], to: target)
    let file = try AtomicFile(target: target)
    try FileSystem.write([2, 3], to: file.path)
    #expect(try JSONFile.bytes(target) == [1] && folder.names.count == 2)
    try file.publish(replacing: true)
    #expect(try JSONFile.bytes(target) == [2, 3] && folder.names == ["out"])
    file.remove()
    #expect(folder.names == ["out"])
  }

  @Test func anExistingTargetStaysUnlessItMayBeReplaced() throws {
    let target = folder.file("out")
    try AtomicFile.write([1], to: target)
    let error = #expect(throws: FileSystem.SystemError.self) { try AtomicFile.write([2], to: target, replacing: false) }
    #expect(error?.isExisting == true)
    #expect(try JSONFile.bytes(target) == [1] && folder.names == ["out"])
  }

  @Test func theModeIsThatOfTheTemporaryFile() throws {
    let target = folder.file("out")
    try AtomicFile.write([1], to: target, mode: 0o600)
    let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func writersOfOneTargetHaveTheirOwnFiles() throws {
    let target = folder.file("out")
    let files = try (0..<3).map { _ in try AtomicFile(target: target) }
    #expect(Set(files.map(\.path)).count == 3)
    for file in files { file.remove() }
    #expect(folder.names.isEmpty)
  }

  @Test func longNamesHaveShorterTemporaryNames() throws {
    let target = folder.file(String(repeating: "n", count: 255))
    try AtomicFile.write([1], to: target)
    #expect(try JSONFile.bytes(target) == [1] && folder.names.count == 1)
  }

  @Test func filesOfDeadProcessesAreRemoved() throws {
    let dead = try Process.run(URL(fileURLWithPath: "/bin/true"), arguments: [])
    dead.waitUntilExit()
    for name in [
      ".out.\(dead.processIdentifier)-0.partial", ".out.1-0.partial", ".other.\(dead.processIdentifier)-0.partial",
    ] {
      try Data().write(to: URL(fileURLWithPath: folder.file(name)))
    }
    try AtomicFile.write([1], to: folder.file("out"))
    #expect(Set(folder.names) == ["out", ".out.1-0.partial", ".other.\(dead.processIdentifier)-0.partial"])
  }

  @Test func aMissingFolderIsAnError() {
    let error = #expect(throws: FileSystem.SystemError.self) { try AtomicFile.write([1], to: folder.file("none/out")) }
    #expect(error?.isMissing == true)
  }
}

@Suite(.ownThread) struct FolderLockTests {
  @Test func oneHolderAtATime() throws {
    let folder = try TemporaryFolder()
    var first = try FolderLock(folder.file("lock"))
    #expect(first != nil)
    #expect(try FolderLock(folder.file("lock")) == nil)
    #expect(FolderLock.isHeldHere(folder.file("lock")))
    first = nil
    #expect(!FolderLock.isHeldHere(folder.file("lock")))
    #expect(try FolderLock(folder.file("lock")) != nil)
  }

  /// A copy of the descriptor, as another process would have it, holds the lock without an object of this one.
  @Test func aLockOfAnotherProcessIsNotHeldHere() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("lock", bytes: [])
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(flock(descriptor, LOCK_EX) == 0)
    #expect(try FolderLock(path) == nil)
    #expect(!FolderLock.isHeldHere(path))
  }

  @Test func sharedLocksAreCounted() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("lock")
    var locks = [try FolderLock(path, sharing: true), try FolderLock(path, sharing: true)]
    #expect(locks.allSatisfy { $0 != nil })
    locks.removeLast()
    #expect(FolderLock.isHeldHere(path))
    #expect(try FolderLock(path) == nil)
    locks.removeLast()
    #expect(!FolderLock.isHeldHere(path))
  }

  /// A child between fork and exec has a copy of every descriptor.
  @Test func copiesOfTheDescriptorDoNotKeepTheLock() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("lock")
    var lock = try FolderLock(path)
    let descriptor = try #require(
      FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }.first {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
      })
    let copy = dup(descriptor)
    defer { close(copy) }
    #expect(lock != nil)
    lock = nil
    #expect(try FolderLock(path) != nil)
  }

  @Test func aFolderIsLockedWithoutAFile() async throws {
    let folder = try TemporaryFolder()
    var first = try await FolderLock(folder: folder.path)
    async let second = FolderLock(folder: folder.path)
    try await Task.sleep(for: .milliseconds(50))
    #expect(first != nil)
    first = nil
    #expect(try await second != nil)
    #expect(folder.names.isEmpty)
  }

  @Test func aMissingFolderIsAnError() async {
    #expect(throws: FileSystem.SystemError.self) { try FolderLock("/nonexistent/lock") }
    await #expect(throws: FileSystem.SystemError.self) { try await FolderLock(folder: "/nonexistent") }
  }
}

@Suite(.ownThread) struct GzipTests {
  @Test func bytesComeBack() throws {
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let packed = try #require(Gzip.compress(bytes))
    #expect(packed.count < bytes.count && packed.withUnsafeBytes(Gunzip.packing) == .gzip)
    #expect(try packed.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: bytes.count) } == bytes)
    #expect(throws: Gunzip.Failure.tooLarge(byteCountMax: bytes.count - 1)) {
      try packed.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: bytes.count - 1) }
    }
    #expect(throws: Gunzip.Failure.damaged("the data end early")) {
      try packed.dropLast(9).withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: bytes.count) }
    }
  }

  @Test func allMembersAreRead() throws {
    let members = try #require(Gzip.compress([1, 2])) + #require(Gzip.compress([3]))
    #expect(try members.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 3) } == [1, 2, 3])
    #expect(try members.withUnsafeBytes { try Gunzip.check($0, byteCountMax: 3) } == 3)
  }

  /// `python3 -c 'import zlib; print(zlib.compress(b"abc").hex())'`
  @Test func zlibStreamsAreReadOnRequest() throws {
    let packed = try #require(Hexadecimal.bytes("789c4b4c4a0600024d0127"))
    #expect(packed.withUnsafeBytes(Gunzip.packing) == .deflate)
    #expect(
      try packed.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 3, packing: .deflate) } == Array("abc".utf8))
    #expect(throws: Gunzip.Failure.self) { try packed.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 3) } }
  }

  @Test func dataBehindTheStreamAreRefused() throws {
    let gzip = try #require(Gzip.compress([1])) + [0, 0]
    #expect(throws: Gunzip.Failure.self) { try gzip.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 1) } }
    let zlib = try #require(Hexadecimal.bytes("789c4b4c4a0600024d012700"))
    #expect(throws: Gunzip.Failure.damaged("other data follow")) {
      try zlib.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 3, packing: .deflate) }
    }
  }
}
