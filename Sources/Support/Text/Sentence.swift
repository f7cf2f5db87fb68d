/// Messages of errors begin in lower case, so that a command can put the file before and the remedy behind. Apps show
/// them to people as sentences.
package enum Sentence {
  /// A text with a capital letter at its start and a full stop at its end.
  package static func of(_ text: String) -> String {
    guard let first = text.first else { return text }
    let isClosed = text.last.map { ".!?".contains($0) } ?? false
    return first.uppercased() + text.dropFirst() + (isClosed ? "" : ".")
  }

  /// What is wrong with a file, which is named by the last part of its path, or with a URL, which is named by all of it
  /// but its query: the last part of one names nothing.
  package static func of(file path: String, _ message: String) -> String {
    let name =
      path.contains("://")
      ? String(path.prefix { $0 != "?" }) : path.split(separator: "/").last.map(String.init) ?? path
    return name.isEmpty ? of(message) : "\(name): \(message)" + (message.hasSuffix(".") ? "" : ".")
  }
}
