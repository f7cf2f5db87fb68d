import Foundation
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An XML document as a tree, read by Foundation's parser.
final class XMLTree {
  let name: String
  let attributes: [String: String]
  private(set) var text = ""
  private(set) var children: [XMLTree] = []

  private init(_ name: String, _ attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  /// - Throws: when the document is not well-formed.
  static func parsed(_ bytes: [UInt8]) throws -> XMLTree {
    let reader = Reader()
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = reader
    guard parser.parse(), let root = reader.stack.first?.children.first else {
      throw parser.parserError ?? CocoaError(.coderReadCorrupt)
    }
    return root
  }

  /// The first child of a name.
  subscript(name: String) -> XMLTree? { children.first { $0.name == name } }

  /// All elements of a name, however deep.
  func all(_ name: String) -> [XMLTree] {
    children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) }
  }

  private final class Reader: NSObject, XMLParserDelegate {
    var stack = [XMLTree("", [:])]

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      let node = XMLTree(name, attributes)
      stack[stack.count - 1].children.append(node)
      stack.append(node)
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
      stack.removeLast()
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { stack[stack.count - 1].text += string }
  }
}
