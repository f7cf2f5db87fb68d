package import Support

#if canImport(Darwin)
  import Foundation
#else
  import CExpat
#endif

/// Reads an XML 1.0 document and reports its elements: with libexpat, or with Foundation's XMLParser on
/// Apple platforms, where apps build without further C libraries. (Foundation's parser on Linux would load libxml2, ICU
/// and FoundationXML into every command.)
///
/// Documents may be hostile. A document that declares an entity is refused, so nothing is ever expanded ("billion
/// laughs"), and nothing external is loaded. (In place of Foundation's parser, which does not tell on every platform
/// that it found a declaration, the bytes are searched for one: it counts in a comment, too.)
package enum XMLReader {
  /// Names come without their namespace prefix. Prefixes need not be declared.
  package enum Event {
    /// - line: where the tag begins, from 1; with Foundation's parser where it ends.
    case start(name: String, attributes: [String: String], line: Int)
    /// Character data, possibly in several pieces; the five predefined entities and character references are replaced.
    case text(String)
    case end(name: String)
  }

  /// libexpat's version; nil with Foundation's parser.
  package static var libraryVersion: String? {
    #if canImport(Darwin)
      nil
    #else
      String(String(cString: XML_ExpatVersion()).drop { !$0.isNumber })
    #endif
  }

  /// Why a document is not well-formed, or is refused.
  package struct SyntaxError: Error, Hashable, CustomStringConvertible {
    /// From 1.
    package let line: Int
    package let message: String
    package var description: String { "line \(line): \(message)" }
  }

  /// Hands the document's elements and texts to a closure, in their order.
  ///
  /// - Throws: ``SyntaxError``; what the closure throws, which ends the reading.
  /// - Complexity: O(bytes), in memory for one tag and the names of the open elements.
  package static func read(_ bytes: [UInt8], _ body: (Event) throws -> Void) throws {
    try read(MemoryBytes(bytes), body)
  }

  /// Hands the elements and texts of a document in a file to a closure, in their order.
  ///
  /// - Throws: ``SyntaxError``; what the source throws; what the closure throws, which ends the reading.
  /// - Complexity: O(bytes), in memory for one tag and the names of the open elements (on Apple platforms, all bytes).
  package static func read(_ source: any ByteSource, _ body: (Event) throws -> Void) throws {
    try withoutActuallyEscaping(body) { body in try Parse(body).run(source) }
  }

  private static let entityMessage = "it declares an entity, which is not read here"

  private static func localName(_ name: String) -> String {
    name.utf8.lastIndex(of: UInt8(ascii: ":")).map { String(name[name.index(after: $0)...]) } ?? name
  }
}

#if canImport(Darwin)
  extension XMLReader {
    private final class Parse: NSObject, XMLParserDelegate {
      private let body: (Event) throws -> Void
      private var failure: (any Error)?
      /// How many elements have begun, and how many of them have not ended.
      private var (elements, open) = (0, 0)

      init(_ body: @escaping (Event) throws -> Void) { self.body = body }

      func run(_ source: any ByteSource) throws {
        let bytes = try source.bytes(at: 0, count: source.byteCount)
        if let line = Self.lineOfEntity(in: bytes) { throw SyntaxError(line: line, message: entityMessage) }
        let parser = XMLParser(data: Data(bytes))
        parser.shouldResolveExternalEntities = false
        parser.delegate = self
        let isDone = parser.parse()
        if let failure { throw failure }
        // The parser may be content with a part of a document.
        guard isDone, parser.parserError == nil, elements > 0, open == 0 else {
          throw SyntaxError(
            line: max(parser.lineNumber, 1),
            message: parser.parserError?.localizedDescription ?? "it is not well-formed")
        }
      }

      private func take(_ event: Event, _ parser: XMLParser) {
        guard failure == nil else { return }
        do {
          try body(event)
        } catch {
          failure = error
          parser.abortParsing()
        }
      }

      /// The line, from 1, of the first declaration of an entity, in any encoding in which ASCII is ASCII but for bytes
      /// of zero, as UTF-8 and UTF-16 are.
      private static func lineOfEntity(in bytes: [UInt8]) -> Int? {
        let declaration = Array("<!ENTITY".utf8)
        var (line, matched) = (1, 0)
        for byte in bytes where byte != 0 {
          matched = byte == declaration[matched] ? matched + 1 : byte == declaration[0] ? 1 : 0
          if matched == declaration.count { return line }
          if byte == UInt8(ascii: "\n") { line += 1 }
        }
        return nil
      }

      func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
      ) {
        (elements, open) = (elements + 1, open + 1)
        take(.start(name: localName(name), attributes: attributes, line: parser.lineNumber), parser)
      }
      func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        open -= 1
        take(.end(name: localName(name)), parser)
      }
      func parser(_ parser: XMLParser, foundCharacters text: String) { take(.text(text), parser) }
      func parser(_ parser: XMLParser, foundCDATA data: Data) {
        take(.text(String(decoding: data, as: UTF8.self)), parser)
      }
    }
  }
#else
  extension XMLReader {
    private final class Parse {
      private let body: (Event) throws -> Void
      private let parser: XML_Parser
      private var failure: (any Error)?
      private static let chunkBytes = 1 << 18

      init(_ body: @escaping (Event) throws -> Void) {
        self.body = body
        guard let parser = XML_ParserCreate(nil) else { preconditionFailure("libexpat has no memory for a parser") }
        self.parser = parser
      }

      deinit { XML_ParserFree(parser) }

      func run(_ source: any ByteSource) throws {
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
          parser, { context, name, attributes in Parse.of(context).start(name, attributes) },
          { context, name in Parse.of(context).take(.end(name: localName(String(cString: name!)))) })
        XML_SetCharacterDataHandler(parser) { context, text, count in
          let text = UnsafeRawBufferPointer(start: text, count: Int(count))
          Parse.of(context).take(.text(String(decoding: text, as: UTF8.self)))
        }
        XML_SetEntityDeclHandler(parser) { context, _, _, _, _, _, _, _, _ in Parse.of(context).refuseEntity() }
        // Expat knows UTF-8, UTF-16, ISO-8859-1 and ASCII. Any other encoding is read as ISO-8859-1: what matters in
        // these documents is ASCII.
        XML_SetUnknownEncodingHandler(
          parser,
          { _, _, info in
            withUnsafeMutableBytes(of: &info!.pointee.map) { raw in
              for (code, entry) in raw.bindMemory(to: Int32.self).indices.enumerated() {
                raw.bindMemory(to: Int32.self)[entry] = Int32(code)
              }
            }
            return Int32(XML_STATUS_OK.rawValue)
          }, nil)
        var (done, isLast) = (0, false)
        repeat {
          let piece = try source.bytes(at: done, count: min(Self.chunkBytes, source.byteCount - done))
          done += piece.count
          isLast = piece.isEmpty || done >= source.byteCount
          let status = piece.withUnsafeBytes { bytes in
            XML_Parse(
              parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), isLast ? 1 : 0)
          }
          if let failure { throw failure }
          guard status == XML_STATUS_OK else {
            throw SyntaxError(line: line, message: String(cString: XML_ErrorString(XML_GetErrorCode(parser))))
          }
        } while !isLast
      }

      private static func of(_ context: UnsafeMutableRawPointer?) -> Parse {
        Unmanaged<Parse>.fromOpaque(context!).takeUnretainedValue()
      }

      private var line: Int { Int(XML_GetCurrentLineNumber(parser)) }

      private func start(
        _ name: UnsafePointer<CChar>?, _ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?
      ) {
        var attributes: [String: String] = [:]
        var index = 0
        while let name = list?[index], let value = list?[index + 1] {
          attributes[String(cString: name)] = String(cString: value)
          index += 2
        }
        take(.start(name: localName(String(cString: name!)), attributes: attributes, line: line))
      }

      private func take(_ event: Event) {
        guard failure == nil else { return }
        do {
          try body(event)
        } catch {
          stop(error)
        }
      }

      private func refuseEntity() { stop(SyntaxError(line: line, message: entityMessage)) }

      private func stop(_ error: any Error) {
        if failure == nil { failure = error }
        XML_StopParser(parser, 0)
      }
    }
  }
#endif
