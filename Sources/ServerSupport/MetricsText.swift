/// Writes metrics in Prometheus' text format, version 0.0.4.
package struct MetricsText {
  package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  package private(set) var text = ""

  package init() {}

  package mutating func begin(_ name: String, _ kind: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
  }

  package mutating func sample(_ name: String, _ labels: String, _ value: String) {
    text += "\(name)\(labels) \(value)\n"
  }

  package mutating func single(_ name: String, _ kind: String, _ help: String, _ value: Int) {
    begin(name, kind, help)
    sample(name, "", "\(value)")
  }

  /// A label's value with quotation marks, backslashes and line ends escaped.
  package static func label(_ text: String) -> String {
    text.reduce(into: "") { label, character in
      switch character {
      case "\\": label += "\\\\"
      case "\"": label += "\\\""
      case "\n": label += "\\n"
      default: label.append(character)
      }
    }
  }
}
