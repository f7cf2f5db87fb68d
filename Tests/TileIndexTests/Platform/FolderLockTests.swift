import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread)
struct FolderLockTests {
  @Test func lockIsExclusive() throws {
    let folder = try TemporaryFolder()
    var first = try FolderLock(folder.file("lock"))
    #expect(first != nil)
    #expect(try FolderLock(folder.file("lock")) == nil)
    first = nil
    #expect(try FolderLock(folder.file("lock")) != nil)
  }

  /// A child process between fork and exec has copies of all descriptors.
  @Test func inheritedDescriptorsDoNotKeepTheLock() throws {
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

  @Test func missingFoldersThrow() {
    #expect(throws: FileSystem.SystemError.self) { try FolderLock("/nonexistent/lock") }
  }
}
