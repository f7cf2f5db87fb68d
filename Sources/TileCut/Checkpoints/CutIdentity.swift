import Support
import TileIndex

/// Everything that the bytes of a cut depend on: the tool's version, the sources' content, and the options.
///
/// Two cuts of equal identity give equal bundles, so one may continue the other, or do a part of it.
package struct CutIdentity: Sendable {
  package struct Option: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  package let toolVersion: String
  package let sources: [SourceIdentity]
  /// In the order of ``CutOptions``' members.
  package let options: [Option]

  init(toolVersion: String, sources: [SourceIdentity], options: CutOptions, name: String) {
    self.toolVersion = toolVersion
    self.sources = sources
    // Every member counts, also one that is added later. Paths do not: a source may move.
    self.options = Mirror(reflecting: options).children.compactMap { child in
      guard let label = child.label, label != "sources" else { return nil }
      return Option(name: label, value: label == "name" ? name : Self.text(child.value))
    }
  }

  /// SHA-256 over all parts: 64 hexadecimal digits.
  package var digest: String {
    let lines = ["tilecut \(toolVersion)"] + sources.map { "source \($0.bytes) \($0.digest)" }
    return FileHash.sha256(ofText: (lines + options.map { "\($0.name) \($0.value)" }).joined(separator: "\n"))
  }

  /// The first difference, for people; nil if there is none.
  package func difference(from earlier: CutIdentity) -> String? {
    if earlier.toolVersion != toolVersion {
      return "it was begun by tilecut \(earlier.toolVersion), and this is \(toolVersion)"
    }
    guard earlier.sources.count == sources.count else {
      return "it had \(earlier.sources.count) sources, and now there are \(sources.count)"
    }
    for (old, new) in zip(earlier.sources, sources) where (old.bytes, old.digest) != (new.bytes, new.digest) {
      return old.path == new.path
        ? "the source \(new.path) has changed since" : "its source \(old.path) is not the same as \(new.path)"
    }
    for option in options {
      let old = earlier.options.first { $0.name == option.name }?.value
      if old != option.value { return "its \(option.name) was \(old ?? "not known"), and now it is \(option.value)" }
    }
    return earlier.options.count == options.count ? nil : "it had other options"
  }

  package var json: JSONValue {
    .object([
      .init("tool", .string(toolVersion)),
      .init(
        "sources",
        .array(
          sources.map {
            .object([
              .init("path", .string($0.path)), .init("bytes", .number($0.bytes)), .init("digest", .string($0.digest)),
            ])
          })),
      .init("options", .object(options.map { .init($0.name, .string($0.value)) })),
    ])
  }

  /// Nil for what ``json`` does not give.
  package init?(_ json: JSONValue) {
    guard let tool = json["tool"]?.string, let sources = json["sources"]?.array, let options = json["options"]?.members
    else { return nil }
    toolVersion = tool
    self.sources = sources.compactMap { source in
      guard let path = source["path"]?.string, let digest = source["digest"]?.string,
        case .number(let bytes)? = source["bytes"], let bytes = Int(bytes)
      else { return nil }
      return SourceIdentity(path: path, bytes: bytes, digest: digest)
    }
    self.options = options.compactMap { member in member.value.string.map { Option(name: member.name, value: $0) } }
    guard self.sources.count == sources.count, self.options.count == options.count else { return nil }
  }

  // MARK: - Values as text

  /// A value's text: its members by name, to any depth. A long text is replaced by its hash.
  private static func text(_ value: Any) -> String {
    let text = fullText(value)
    return text.utf8.count <= 200 ? text : "sha256:" + FileHash.sha256(ofText: text)
  }

  private static func fullText(_ value: Any) -> String {
    if let point = value as? SIMD2<Double> { return "(\(point.x), \(point.y))" }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional: return mirror.children.first.map { fullText($0.value) } ?? "none"
    case .collection: return "[\(mirror.children.map { fullText($0.value) }.joined(separator: ", "))]"
    case .dictionary, .set:
      // Their order differs from run to run.
      return "[\(mirror.children.map { fullText($0.value) }.sorted().joined(separator: ", "))]"
    case .enum where mirror.children.isEmpty: return "\(value)"
    case .enum:
      return mirror.children.map { "\($0.label ?? "")(\(fullText($0.value)))" }.joined()
    case nil: return String(describing: value)
    default:
      if let range = value as? ClosedRange<Int> { return "\(range.lowerBound)-\(range.upperBound)" }
      let members = mirror.children.map { child in
        child.label.map { $0.hasPrefix(".") ? "" : "\($0): " } ?? ""
      }
      let values = mirror.children.map { fullText($0.value) }
      return "(\(zip(members, values).map { $0 + $1 }.joined(separator: ", ")))"
    }
  }
}
