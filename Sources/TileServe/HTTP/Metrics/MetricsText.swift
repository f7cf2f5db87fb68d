/// Figures in Prometheus' text format, one after the other.
struct MetricsText {
  private(set) var text = ""

  mutating func begin(_ name: String, _ kind: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
  }

  mutating func sample(_ name: String, _ labels: String, _ value: String) { text += "\(name)\(labels) \(value)\n" }

  mutating func single(_ name: String, _ kind: String, _ help: String, _ value: Int) {
    begin(name, kind, help)
    sample(name, "", "\(value)")
  }

  /// A label's value: quotation marks, backslashes and line ends are written with a backslash.
  static func label(_ text: String) -> String {
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
