import Support
import TileIndex

/// Writes an XML document element by element, escaped and indented by two spaces.
struct XMLWriter {
  private(set) var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
  private var depth = 0

  /// The document as UTF-8.
  var bytes: [UInt8] { Array(text.utf8) }

  /// An element with elements in it.
  mutating func element(
    _ name: String, _ attributes: KeyValuePairs<String, String> = [:], _ body: (inout XMLWriter) -> Void
  ) {
    open(name, attributes, end: ">\n")
    depth += 1
    body(&self)
    depth -= 1
    indent()
    text += "</\(name)>\n"
  }

  /// An element with text in it.
  mutating func element(_ name: String, _ attributes: KeyValuePairs<String, String> = [:], text content: String) {
    open(name, attributes, end: ">")
    text += "\(Markup.escaped(content))</\(name)>\n"
  }

  /// An element with nothing in it.
  mutating func element(_ name: String, _ attributes: KeyValuePairs<String, String>) {
    open(name, attributes, end: "/>\n")
  }

  private mutating func open(_ name: String, _ attributes: KeyValuePairs<String, String>, end: String) {
    indent()
    text += "<\(name)"
    for (key, value) in attributes { text += " \(key)=\"\(Markup.escaped(value))\"" }
    text += end
  }

  private mutating func indent() { text += String(repeating: "  ", count: depth) }
}
