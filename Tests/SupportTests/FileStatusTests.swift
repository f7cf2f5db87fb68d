import Foundation
import LibC
import Support
import TestSupport
import Testing

@Suite(.ownThread) struct FileStatusTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func theKindIsToldOfPathsAndOpenFiles() throws {
    let file = try folder.write("file", "abc")
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: file)
    #expect(FileSystem.kind(file) == .file && FileSystem.kind(folder.path) == .folder)
    #expect(FileSystem.kind("/dev/null") == .other && FileSystem.kind(folder.file("none")) == nil)
    #expect(FileSystem.kind(folder.file("link")) == .file)
    #expect(try FileSystem.status(folder.file("link"), followingLinks: false)?.kind == .other)
    #expect(try FileSystem.status(folder.file("none")) == nil)
    // The system says of an open file what it says of its path.
    #expect(try ReadOnlyFile(file).status() == FileSystem.status(file) && FileSystem.size(file) == 3)
    #expect(throws: FileSystem.SystemError.self) { try FileSystem.status(of: -1) }
  }

  @Test func whatIsUnknownIsNoMissingFile() throws {
    try FileManager.default.createSymbolicLink(atPath: folder.file("a"), withDestinationPath: folder.file("a"))
    let error = #expect(throws: FileSystem.SystemError.self) { try FileSystem.status(folder.file("a")) }
    #expect(error?.number == ELOOP && FileSystem.kind(folder.file("a")) == nil)
  }

  @Test func allNamesOfAFileHaveOneIdentity() throws {
    let file = try folder.write("file", "abc")
    #expect(link(file, folder.file("name")) == 0)
    try folder.write("other", "abc")
    #expect(FileIdentity(path: file) == FileIdentity(path: folder.file("name")))
    #expect(FileIdentity(path: file) != FileIdentity(path: folder.file("other")))
    #expect(FileIdentity(path: folder.file("none")) == nil && FileIdentity(descriptor: -1) == nil)
    #expect(try FileSystem.status(file)?.links == 2)
  }

  @Test func aRemovedFileShowsTheSameBytes() throws {
    let file = try ReadOnlyFile(folder.write("file", "abc"))
    let opened = try file.status()
    FileSystem.remove(folder.file("file"))
    #expect(try file.status() != opened && file.status().showsSameBytes(as: opened))
    let other = try ReadOnlyFile(folder.write("file", "abc")).status()
    #expect(!other.showsSameBytes(as: opened))
  }

  /// Stamps are kept in databases and records, and those of earlier programs have to be read.
  @Test func stampsKeepTheirForm() throws {
    let file = try folder.write("file", "abc")
    let stamp = try #require(FileStamp(file))
    let members = try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(stamp)) as? [String: Int])
    #expect(Set(members.keys) == ["bytes", "seconds", "nanoseconds", "inode"] && members["bytes"] == 3)
    #expect(try JSONDecoder().decode(FileStamp.self, from: JSONEncoder().encode(stamp)) == stamp)
    #expect(FileStamp(folder.path) == nil && FileStamp(folder.file("none")) == nil)
  }

  /// The initialiser throws when all members are set, so the object ends as others do.
  @Test func aFileThatIsNotRegularIsClosedOnce() {
    #expect(lostDescriptors(whileRunning: { _ = try? ReadOnlyFile("/") }) == 0)
    #expect(throws: ReadOnlyFile.NotAFile.self) { try ReadOnlyFile("/") }
  }

  @Test func linksAreResolvedUpToAMissingFile() throws {
    let path = try FileSystem.realPath(folder.path)
    try FileSystem.makeFolder(folder.file("real"))
    for (name, target) in [("folder", "real"), ("link", "folder/new"), ("absolute", "\(folder.path)/folder/new")] {
      try FileManager.default.createSymbolicLink(atPath: folder.file(name), withDestinationPath: target)
    }
    for name in ["folder/new", "link", "absolute", "./real/new"] {
      #expect(FileSystem.resolvingLinks(folder.file(name)) == "\(path)/real/new", "\(name)")
    }
    #expect(FileSystem.resolvingLinks(folder.file("folder")) == "\(path)/real")
    #expect(FileSystem.resolvingLinks(folder.file("none/new")) == folder.file("none/new"))
    #expect(FileSystem.resolvingLinks("/no-such-file") == "/no-such-file")
  }
}
