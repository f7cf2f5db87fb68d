import RegionCatalog
import Support
import TileIndex

/// Everything that the bytes of a cut depend on: the tool's version and build, the libraries that it loads, the fonts
/// of labels, the sources' content, and the options.
///
/// Two cuts of equal identity give equal bundles, so one may continue the other, or do a part of it.
struct CutIdentity: Sendable {
  struct Option: Hashable, Sendable {
    let name: String
    let value: String
    /// The value as one types it; nil for what has no short form.
    var typed: String?
  }

  let toolVersion: String
  /// Fonts too, as ``Cutter/libraries()`` lists them.
  let libraries: [LibraryIdentity]
  let sources: [SourceIdentity]
  /// In the order of ``CutOptions``' members.
  let options: [Option]

  init(
    toolVersion: String, libraries: [LibraryIdentity], sources: [SourceIdentity], options: CutOptions, name: String
  ) {
    self.toolVersion = toolVersion
    self.libraries = libraries
    self.sources = sources
    // Every member counts, also one that is added later. Paths do not: a file may move, and its content is a source.
    var options = options
    options.drawing = options.drawing.map { $0.renamingFiles { _ in "" } }
    options.name = name
    options.version = options.version ?? CutOptions.firstVersion
    self.options = Mirror(reflecting: options).children.compactMap { child in
      guard let label = child.label, label != "sources" else { return nil }
      return Option(name: label, value: Self.text(child.value), typed: CutOptionText.typed(child.value))
    }
  }

  /// SHA-256 over all parts: 64 hexadecimal digits.
  var digest: String {
    let libraries = libraries.map { "library \($0.name) \($0.version)" }
    let lines = ["tilecut \(toolVersion)"] + libraries + sources.map { "source \($0.bytes) \($0.digest)" }
    return FileHash.sha256(ofText: (lines + options.map { "\($0.name) \($0.value)" }).joined(separator: "\n"))
  }

  /// The first difference, for people; nil if there is none.
  func difference(from earlier: CutIdentity) -> String? {
    if earlier.toolVersion != toolVersion {
      return "it was made by tilecut \(earlier.toolVersion), and this is \(toolVersion)"
    }
    if earlier.libraries != libraries {
      let other = libraries.first { !earlier.libraries.contains($0) } ?? earlier.libraries.first
      return "it was made with another \(other?.name ?? "library"), which may make other tiles of the same pixels"
    }
    guard earlier.sources.count == sources.count else {
      return "it had \(earlier.sources.count) sources, and now there are \(sources.count)"
    }
    for (old, new) in zip(earlier.sources, sources) where (old.bytes, old.digest) != (new.bytes, new.digest) {
      return old.path == new.path
        ? "the source \(new.path) has changed since" : "its source \(old.path) is not the same as \(new.path)"
    }
    for option in options {
      let old = earlier.options.first { $0.name == option.name }
      guard old?.value != option.value else { continue }
      let flag = CutOptionText.flag(option.name)
      // A short form may leave out what differs.
      guard let before = old?.typed, let now = option.typed, before != now else { return "\(flag) is not the same" }
      return "\(flag) was \(before), and now it is \(now)"
    }
    return earlier.options.count == options.count ? nil : "it had other options"
  }

  var json: JSONValue {
    .object([
      .init("tool", .string(toolVersion)),
      .init("libraries", .object(libraries.map { .init($0.name, .string($0.version)) })),
      .init(
        "sources",
        .array(
          sources.map { source in
            .object(
              [
                .init("path", .string(source.path)), .init("bytes", .number(source.bytes)),
                .init("digest", .string(source.digest)),
              ] + (source.stamps.map { [.init("stamps", .string($0))] } ?? []))
          })),
      .init("options", .object(options.map { .init($0.name, .string($0.value)) })),
      .init(
        "typed", .object(options.compactMap { option in option.typed.map { .init(option.name, .string($0)) } })),
    ])
  }

  /// Nil for what ``json`` does not give.
  init?(_ json: JSONValue) {
    guard let tool = json["tool"]?.string, let sources = json["sources"]?.array, let options = json["options"]?.members
    else { return nil }
    toolVersion = tool
    libraries = (json["libraries"]?.members ?? []).compactMap { member in
      member.value.string.map { LibraryIdentity(name: member.name, version: $0) }
    }
    self.sources = sources.compactMap { source in
      guard let path = source["path"]?.string, let digest = source["digest"]?.string,
        case .number(let bytes)? = source["bytes"], let bytes = Int(bytes)
      else { return nil }
      return SourceIdentity(path: path, bytes: bytes, digest: digest, stamps: source["stamps"]?.string)
    }
    self.options = options.compactMap { member in
      member.value.string.map { Option(name: member.name, value: $0, typed: json["typed"]?[member.name]?.string) }
    }
    guard self.sources.count == sources.count, self.options.count == options.count else { return nil }
  }

  // MARK: - Values as text

  /// A value's text: its members by name, to any depth. A long text is replaced by its hash.
  static func text(_ value: Any) -> String {
    let text = fullText(value)
    return text.utf8.count <= 200 ? text : "sha256:" + FileHash.sha256(ofText: text)
  }

  private static func fullText(_ value: Any) -> String {
    // Reflection takes microseconds for each value, and these come by the hundred thousand.
    switch value {
    case let ring as [SIMD2<Double>]: return ring.map { "\($0.x) \($0.y)" }.joined(separator: ",")
    case let places as [Place]:
      return "[\(places.map { "\([$0.name, $0.kind]) \($0.longitude) \($0.latitude) \($0.importance)" }.joined())]"
    default: break
    }
    let mirror = Mirror(reflecting: value)
    if let set = value as? TileMatrixSet {
      return "\(set.identifier) \(FileHash.sha256(ofText: members(of: mirror)).prefix(16))"
    }
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
    default: return members(of: mirror)
    }
  }

  private static func members(of mirror: Mirror) -> String {
    let texts = mirror.children.map { child in
      // Elements of a tuple are called .0, .1 and so on.
      (child.label.map { $0.hasPrefix(".") ? "" : "\($0): " } ?? "") + fullText(child.value)
    }
    return "(\(texts.joined(separator: ", ")))"
  }
}
