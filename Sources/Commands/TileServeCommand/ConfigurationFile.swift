import Foundation

/// Looks whether a configuration file says only what is understood: an option with a typing error must not go unnoticed.
enum ConfigurationFile {
  private static let texts: Set<String> = [
    "path", "host", "unix-socket", "cache", "base-path", "public-url", "missing", "cache-control", "cors",
    "allowed-hosts", "trusted-proxies", "access-log", "log-level", "tls-cert", "tls-key", "web", "prefetch",
  ]
  /// - Throws: ``SettingsError`` that names the file and the member.
  static func check(_ path: String) throws {
    let data: Data
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw SettingsError(.configuration, "\(path): cannot be read; check the name and permissions")
    }
    guard let object = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else {
      throw SettingsError(.configuration, "\(path): is no JSON object")
    }
    for (name, value) in object.sorted(by: { $0.key < $1.key }) {
      func wrong(_ reason: String) -> SettingsError {
        SettingsError(.configuration, "\(path): \(name): \(reason)")
      }
      if texts.contains(name) {
        guard let text = value as? String else { throw wrong("must be a text in quotation marks") }
        do {
          try ServeSettings.check(text, name)
        } catch {
          throw SettingsError(.configuration, "\(path): \(error)")
        }
      } else if let range = ServeSettings.numbers[name] {
        // Foundation takes true for the number 1, of the type of a character.
        guard let number = value as? NSNumber, number.objCType.pointee != CChar(UInt8(ascii: "c")),
          Double(exactly: number.intValue) == number.doubleValue, range.contains(number.intValue)
        else { throw wrong("must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
      } else if name == "tilesets" {
        guard let tilesets = value as? [String: Any] else { throw wrong("must be an object with one member a tileset") }
        for (id, settings) in tilesets { try check(id, settings, path) }
      } else {
        throw wrong("is not known; see tileserve --help")
      }
    }
  }

  private static func check(_ id: String, _ settings: Any, _ path: String) throws {
    let place = "\(path): tilesets: \(id)"
    guard let settings = settings as? [String: String] else {
      throw SettingsError(.configuration, "\(place): must be an object of texts: missing, cache-control")
    }
    for (name, value) in settings {
      do {
        switch name {
        case "missing": _ = try ServeSettings.policy(value, "missing")
        case "cache-control": _ = try ServeSettings.checkedField(value)
        default: throw SettingsError(.configuration, "\(name) is not known; there are missing and cache-control")
        }
      } catch {
        throw SettingsError(.configuration, "\(place): \(error)")
      }
    }
  }
}
