import Foundation
@testable import Support
import TestSupport
import Testing


@Suite(.ownThread)
struct FolderLockTests {
  @Test func oneAtATime() throws {
    let folder = try TemporaryFolder()
    var first = try FolderLock(folder.file("lock"))
    #expect(first != nil)
    #expect(try FolderLock(folder.file("lock")) == nil)
    first = nil
    #expect(try FolderLock(folder.file("lock")) != nil)
  }

  /// A program that is just being started has a copy of every file of the process that starts it.
  @Test func copiesOfTheFileDoNotKeepIt() throws {
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

  @Test func aFolderThatIsNotThere() {
    #expect(throws: FileSystem.SystemError.self) { try FolderLock("/nonexistent/lock") }
  }
}
