import LibC
import Support
import TestSupport
import Testing

/// Names of files that are no UTF-8.
@Suite(.ownThread) struct SystemPathTests {
  @Test func everyNameComesBackAsItWas() {
    var generator = SeededGenerator(seed: 38)
    // Pieces of valid and invalid UTF-8, and the private code points that stand for bytes.
    let pieces: [[UInt8]] = [
      [0x61], [0xfc], [0xc3, 0xbc], [0xc3], [0xe6, 0x97], [0xe6, 0x97, 0xa5], [0xef, 0x9f, 0xbc], [0xef, 0x9e, 0x80],
      [0xef, 0xbb, 0xbf], [0xef, 0x9f], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x97, 0xba], [0xff], [0x80], [0xc0, 0xaf],
    ]
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...6, using: &generator)).flatMap { _ in pieces.randomElement(using: &generator)!
      }
      #expect(SystemPath.bytes(SystemPath.text(bytes)) == bytes)
      #expect(SystemPath.withPointer(SystemPath.text(bytes)) { SystemPath.text($0) } == SystemPath.text(bytes))
    }
  }

  @Test func validNamesStayAsTheyAre() {
    for name in ["", "a.tif", "Übersicht.tif", "日本/地図.tif", "\u{f700}\u{fffd}"] {
      #expect(SystemPath.text(name.utf8) == name && SystemPath.bytes(name) == Array(name.utf8))
    }
    #expect(SystemPath.text([0xfc]) == "\u{f7fc}" && SystemPath.bytes("\u{f7fc}") == [0xfc])
  }

  @Test func filesOfSuchNamesAreListedReadRenamedAndRemoved() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("\u{f7fc}bersicht.tif")
    try AtomicFile.write([1, 2], to: path)
    #expect(FileSystem.names(in: folder.path) == ["\u{f7fc}bersicht.tif"])
    var bytes: [[UInt8]] = []
    try FileSystem.forEachName(in: folder.path) { name in
      if name.first != UInt8(ascii: ".") { bytes.append(Array(name)) }
      return true
    }
    #expect(bytes == [[0xfc] + Array("bersicht.tif".utf8)])
    #expect(try JSONFile.bytes(path) == [1, 2] && FileSystem.kind(path) == .file)
    #expect(try FileSystem.realPath(path).hasSuffix("/\u{f7fc}bersicht.tif"))
    try FileSystem.makeFolders(folder.file("\u{f7e4}/\u{f7f6}"))
    try FileSystem.rename(path, toNew: folder.file("\u{f7e4}/b"))
    #expect(FileSystem.size(folder.file("\u{f7e4}/b")) == 2 && FileSystem.kind(path) == nil)
    FileSystem.removeTree(folder.file("\u{f7e4}"))
    #expect(FileSystem.names(in: folder.path) == [])
  }

  @Test func databasesOfSuchNamesAreOpened() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("\u{f7fc}.db")
    try SQLiteConnection(creating: path).execute("CREATE TABLE t (n)")
    #expect(FileSystem.names(in: folder.path) == ["\u{f7fc}.db"])
    #expect(SQLiteConnection.uri(path: "/\u{f7fc}?", parameters: []) == "file:/%FC%3F")
  }

  @Test func messagesShowTheByteAndJSONStaysJSON() {
    #expect("\u{f7fc}b\n".escapedForTerminal(isMessage: true) == #"\xFCb\n"#)
    #expect("\u{f7fc}b".escapedForTerminal() == #"\uf7fcb"#)
  }
}
