import Foundation
import TestSupport
import Testing
import TileIndex

/// Documents that a search for strings would misread, and documents that are refused.
@Suite(.ownThread) struct XMLReaderTests {
  /// The events as lines: `name a=1 b=2` for a start tag, `"text"` for character data, `/name` for an end tag.
  private func events(_ bytes: [UInt8]) throws -> [String] {
    var lines: [String] = []
    var text = ""
    func endText() {
      if !text.isEmpty { lines.append("\"\(text)\"") }
      text = ""
    }
    try XMLReader.read(bytes) { event in
      switch event {
      case .start(let name, let attributes, _):
        endText()
        lines.append(([name] + attributes.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }).joined(separator: " "))
      case .text(let piece): text += piece
      case .end(let name):
        endText()
        lines.append("/\(name)")
      }
    }
    return lines
  }

  private func events(_ text: String) throws -> [String] { try events(Array(text.utf8)) }

  private func error(_ text: String) -> XMLReader.SyntaxError? {
    #expect(throws: XMLReader.SyntaxError.self) { try XMLReader.read(Array(text.utf8)) { _ in } }
  }

  private static let wellFormed: [(String, [String])] = [
    ("<a x='1' y = \"2\"/>", ["a x=1 y=2", "/a"]),
    ("<a x='\">'>b</a>", ["a x=\">", "\"b\"", "/a"]),
    ("<a\n\tx=\"1\"\r\n>b</a >", ["a x=1", "\"b\"", "/a"]),
    ("<a x='&lt;&#65;&#x42;&quot;'>&amp;lt;&#x2764;</a>", ["a x=<AB\"", "\"&lt;❤\"", "/a"]),
    ("<a><![CDATA[<b x='1'>&amp;</b>]]></a>", ["a", "\"<b x='1'>&amp;</b>\"", "/a"]),
    ("<a><!-- <b x=\"1\"/> --><?b x=\"1\"?></a>", ["a", "/a"]),
    ("<t:a xmlns:t=\"urn:t\" t:x=\"1\" x=\"2\"/>", ["a t:x=1 x=2 xmlns:t=urn:t", "/a"]),
    ("<?xml version='1.0'?><!DOCTYPE a><a>b<c/>d</a>", ["a", "\"b\"", "c", "/c", "\"d\"", "/a"]),
    ("\u{feff}<aa><a/></aa>", ["aa", "a", "/a", "/aa"]),
  ]

  @Test(arguments: wellFormed) func markupIsParsedByTheRulesOfXML(text: String, expected: [String]) throws {
    #expect(try events(text) == expected)
  }

  @Test func encodingsAreDecoded() throws {
    let latin = Array("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a x=\"Z".utf8) + [0xfc] + Array("\"/>".utf8)
    #expect(try events(latin) == ["a x=Zü", "/a"])
    let units: [UInt16] = [0xfeff] + Array("<a>ü</a>".utf16)
    let utf16 = units.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    #expect(try events(utf16) == ["a", "\"ü\"", "/a"])
  }

  private static let declarations = [
    "<!ENTITY e 'x'>", "<!ENTITY e SYSTEM 'file:///etc/hostname'>", "<!ENTITY e PUBLIC 'p' 'http://127.0.0.1:1/e'>",
    "<!ENTITY % e 'x'>", "<!ENTITY % e SYSTEM 'file:///etc/hostname'> %e;",
  ]

  private static func document(declaring entity: String) -> String {
    "<?xml version=\"1.0\"?>\n<!DOCTYPE a [\n\(entity)\n]>\n<a>&e;</a>"
  }

  @Test(arguments: declarations) func entityDeclarationsAreRefused(declaration: String) {
    let error = error(Self.document(declaring: declaration))
    #expect(error?.message.contains("entity") == true && error?.line == 3, "\(error?.description ?? "")")
  }

  /// "Billion laughs": ten levels of entities of which each repeats the one before ten times.
  @Test func nestedEntitiesAreNotExpanded() {
    let declarations = (1...10).map { level in
      "<!ENTITY e\(level) \"\(String(repeating: "&e\(level - 1);", count: 10))\">"
    }
    let start = ContinuousClock.now
    let error = error("<!DOCTYPE a [<!ENTITY e0 \"laugh\">\(declarations.joined())]><a x=\"&e10;\">&e10;</a>")
    #expect(error?.message.contains("entity") == true)
    #expect(ContinuousClock.now - start < .seconds(5))
  }

  @Test func externalSubsetsAreNotLoaded() throws {
    let folder = try TemporaryFolder()
    let subset = try folder.write("a.dtd", "<!ATTLIST a x CDATA 'from the subset'><!ENTITY e 'text'>")
    #expect(try events("<!DOCTYPE a SYSTEM \"\(subset)\"><a/>") == ["a", "/a"])
  }

  private static let malformed = [
    "", " ", "text", "<a>", "<a></b>", "<a/><b/>", "<a x=1/>", "<a x='1' x='2'/>", "<a>&unknown;</a>", "<a>&#0;</a>",
    "<a b='<'/>", "<a>]]></a>", "<a><!-- -- --></a>",
  ]

  @Test(arguments: malformed) func malformedDocumentsAreRefused(text: String) {
    #expect(error(text)?.message.isEmpty == false)
  }

  @Test func errorsStateTheLine() {
    #expect(error("<a>\n\n</b>")?.line == 3)
  }

  @Test func linesOfTagsAreReported() throws {
    var lines: [Int] = []
    try XMLReader.read(Array("<a>\n<b/>\n\n<c\n/></a>".utf8)) {
      if case .start(_, _, let line) = $0 { lines.append(line) }
    }
    #expect(lines == [1, 2, 4])
  }

  @Test func errorsOfTheClosureEndTheReading() {
    struct Stop: Error {}
    var count = 0
    #expect(throws: Stop.self) {
      try XMLReader.read(Array("<a><b/><c/></a>".utf8)) { _ in
        count += 1
        if count == 2 { throw Stop() }
      }
    }
    #expect(count == 2)
  }

  /// The parser gets the document in chunks of a megabyte, so tokens lie across their limits.
  @Test func largeAndDeepDocumentsAreRead() throws {
    let count = 150_000
    var starts = 0
    var text = 0
    let document = "<a>" + String(repeating: "<point lat='1.5'>é</point>", count: count) + "</a>"
    try XMLReader.read(Array(document.utf8)) { event in
      switch event {
      case .start(_, let attributes, _): starts += attributes["lat"] == "1.5" ? 1 : 0
      case .text(let piece): text += piece.unicodeScalars.count { $0 == "é" }
      case .end: break
      }
    }
    #expect(starts == count && text == count)
    let depth = 100_000
    let deep = String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    #expect(try events(deep).count == 2 * depth)
  }

  #if os(Linux)
    /// The side of the source for Apple's platforms, in a program of its own with Foundation's parser.
    @Test func foundationsParserReadsTheSame() throws {
      let folder = try TemporaryFolder()
      let source = try String(
        contentsOfFile: ProjectFiles.path("Sources/TileIndex/Platform/XMLReader.swift"), encoding: .utf8)
      let chosen = source.replacing("#if canImport(Darwin)", with: "#if canImport(FoundationXML)")
        .replacing("  import Foundation\n", with: "  import Foundation\n  import FoundationXML\n")
        .replacing("package import Support\n", with: "")
      let reader = try folder.write("XMLReader.swift", chosen)
      // What it takes from Support.
      let support = try folder.write(
        "Support.swift",
        """
        package protocol ByteSource {
          var byteCount: Int { get }
          func bytes(at offset: Int, count: Int) throws -> [UInt8]
        }
        struct MemoryBytes: ByteSource {
          let all: [UInt8]
          init(_ bytes: [UInt8]) { all = bytes }
          var byteCount: Int { all.count }
          func bytes(at offset: Int, count: Int) -> [UInt8] { Array(all[offset..<(offset + count)]) }
        }
        """)
      // A line for each document: its events, or why it is refused.
      let main = try folder.write(
        "main.swift",
        """
        for document in CommandLine.arguments.dropFirst() {
          var text = ""
          do {
            try XMLReader.read(Array(document.utf8)) { event in
              switch event {
              case .start(let name, let attributes, _):
                text += ([name] + attributes.sorted { $0.key < $1.key }.map { "\\($0)=\\($1)" }).joined(separator: " ") + "|"
              case .text(let piece): text += piece
              case .end(let name): text += "/\\(name)|"
              }
            }
          } catch { text = "refused: \\(error)" }
          print(text)
        }
        """)
      let program = folder.file("reader")
      let built = try #require(
        try run(
          "env", ["swiftc", "-swift-version", "6", "-package-name", "reader", reader, support, main, "-o", program]))
      #expect(built.status == 0 && !built.output.contains("warning:"), "\(built.output)")
      let texts = Self.wellFormed.map(\.0) + Self.malformed + Self.declarations.map(Self.document(declaring:))
      let lines = try #require(try run("env", [program] + texts)).output.split(separator: "\n")
      try #require(lines.count == texts.count, "\(lines)")
      for (line, (text, events)) in zip(lines, Self.wellFormed) {
        let expected = events.map { $0.hasPrefix("\"") ? String($0.dropFirst().dropLast()) : "\($0)|" }.joined()
        #expect(line == expected, "\(text)")
      }
      for (line, text) in zip(lines, texts).dropFirst(Self.wellFormed.count) {
        #expect(line.hasPrefix("refused: line "), "\(text): \(line)")
      }
      for line in lines.suffix(Self.declarations.count) {
        #expect(line == "refused: line 3: it declares an entity, which is not read here")
      }
    }
  #endif
}
