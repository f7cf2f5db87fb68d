import TileIndex
import TileServe

/// Looks whether a configuration file says only what is understood: an option with a typing error must not go unnoticed. docs/tileserve.schema.json says the same
/// to editors.
struct ConfigurationFile {
  let path: String
  /// The tilesets that have settings of their own.
  let tilesetIDs: [String]

  private static let texts: Set<String> = [
    "path", "host", "unix-socket", "cache", "base-path", "public-url", "missing", "cache-control", "cors",
    "allowed-hosts", "trusted-proxies", "access-log", "log-level", "tls-cert", "tls-key", "web", "prefetch",
    "fast-path",
  ]

  /// - Throws: ``SettingsError`` that names the file and the member, or the place of what is no JSON.
  init(_ path: String) throws {
    let document: JSONValue
    do {
      document = try JSONFile.read(path)
    } catch let error as JSONFile.Unreadable {
      throw SettingsError(.configuration, "\(path): cannot be read: \(error); check the name and permissions")
    } catch let error as JSONValue.SyntaxError {
      throw SettingsError(
        .configuration, "\(path): line \(error.line), column \(error.column): is no JSON: \(error.message)")
    }
    guard let members = document.members else {
      throw SettingsError(.configuration, "\(path): is no JSON object; write { in front and } behind the options")
    }
    for member in members {
      do {
        try Self.check(member)
      } catch let error as SettingsError {
        throw SettingsError(.configuration, "\(path): \(error)")
      }
    }
    self.path = path
    tilesetIDs = document["tilesets"]?.members?.map(\.name) ?? []
  }

  private static func check(_ member: JSONValue.Member) throws {
    let name = member.name
    func wrong(_ reason: String) -> SettingsError { SettingsError(.configuration, "\(name): \(reason)") }
    if texts.contains(name) {
      guard let text = member.value.string else { throw wrong("must be a text in quotation marks") }
      try ServeSettings.check(text, name)
    } else if let range = ServeSettings.numbers[name] {
      guard case .number(let text) = member.value, let number = Double(text).flatMap(Int.init(exactly:)),
        range.contains(number)
      else { throw wrong("must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
    } else if name == "tilesets" {
      guard let tilesets = member.value.members else { throw wrong("must be an object with one member a tileset") }
      for tileset in tilesets { try check(tileset: tileset) }
    } else if name != "$schema" {
      throw wrong("is not known; see tileserve --help")
    }
  }

  private static func check(tileset: JSONValue.Member) throws {
    func wrong(_ reason: String) -> SettingsError {
      SettingsError(.configuration, "tilesets: \(tileset.name): \(reason)")
    }
    guard let settings = tileset.value.members else {
      throw wrong("must be an object of texts: missing, cache-control")
    }
    for setting in settings {
      guard let text = setting.value.string else { throw wrong("\(setting.name) must be a text in quotation marks") }
      do {
        switch setting.name {
        case "missing": _ = try ServeSettings.policy(text, "missing")
        case "cache-control": _ = try ServeSettings.checkedField(text)
        default: throw wrong("\(setting.name) is not known; there are missing and cache-control")
        }
      } catch let error as SettingsError where error.status == .usage {
        throw wrong(error.description)
      }
    }
  }

  /// Refuses settings for tilesets that are not there: nothing would ever take them.
  ///
  /// - Throws: ``SettingsError`` that names the first of them.
  func check(_ shelf: TileShelf) throws {
    guard let unknown = tilesetIDs.first(where: { shelf[$0] == nil }) else { return }
    let known = shelf.tilesets.map(\.id)
    let list = known.prefix(10).joined(separator: ", ") + (known.count > 10 ? " and \(known.count - 10) more" : "")
    throw SettingsError(
      .configuration,
      "\(path): tilesets: \(unknown): there is no such tileset; \(known.isEmpty ? "there is none at all" : "there are \(list)")"
    )
  }
}
