import Foundation
import TestSupport
import Testing

/// What a library for apps calls of the interfaces that Apple wants a reason for stands in a privacy manifest.
@Suite struct PrivacyManifestTests {
  /// By category, calls of it in Swift and C.
  private static var calls: [String: Regex<Substring>] {
    [
      "FileTimestamp":
        /\b(?:stat|fstat|lstat|fstatat|getattrlist|fgetattrlist)\((?!\))|(?:creation|contentModification)DateKey|attributesOfItem/,
      "DiskSpace": /\bf?statv?fs\((?!\))|\.volumeAvailableCapacity|systemFreeSize/,
      "SystemBootTime": /\bmach_absolute_time\(|\.systemUptime/,
      "UserDefaults": /\bUserDefaults\b/,
      "ActiveKeyboards": /\bactiveInputModes\b/,
    ]
  }

  /// The modules of the products that run on iOS.
  private static let modules = [
    "CSystemShim", "Support", "LocalizedErrors", "TileIndex", "RegionCatalog", "MemoryPressure",
    "TilePrefetch", "OfflineMap", "MapStoreWire", "MapStoreClient", "PurchaseVerification",
  ]

  private struct Manifest: Decodable {
    struct Access: Decodable {
      let type: String
      let reasons: [String]

      enum CodingKeys: String, CodingKey {
        case type = "NSPrivacyAccessedAPIType"
        case reasons = "NSPrivacyAccessedAPITypeReasons"
      }
    }

    let isTracking: Bool
    let accesses: [Access]

    enum CodingKeys: String, CodingKey {
      case isTracking = "NSPrivacyTracking"
      case accesses = "NSPrivacyAccessedAPITypes"
    }
  }

  @Test(arguments: modules) func categoriesAreDeclaredWhereTheyAreCalled(module: String) throws {
    let root = ProjectFiles.path("Sources/\(module)")
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    var called: Set<String> = []
    for name in names where name.hasSuffix(".swift") || name.hasSuffix(".c") {
      let text = Self.compiledOnIOS(try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8))
      for (category, call) in Self.calls where text.contains(call) { called.insert(category) }
    }
    let path = "\(root)/PrivacyInfo.xcprivacy"
    guard FileManager.default.fileExists(atPath: path) else {
      return #expect(called.isEmpty, "\(module) has no PrivacyInfo.xcprivacy")
    }
    let manifest = try PropertyListDecoder().decode(Manifest.self, from: Data(contentsOf: URL(filePath: path)))
    let prefix = "NSPrivacyAccessedAPICategory"
    #expect(Set(manifest.accesses.map(\.type)) == Set(called.map { prefix + $0 }))
    #expect(manifest.accesses.allSatisfy { !$0.reasons.isEmpty })
    #expect(!manifest.isTracking)
  }

  /// The lines that are neither comments nor within `#if` of another platform.
  private static func compiledOnIOS(_ text: String) -> String {
    var skipped: [Bool] = []
    var lines: [Substring] = []
    for line in text.split(separator: "\n") {
      let line = line.drop { $0 == " " }
      let isOfAnother = line.contains("__linux__") || line.contains("os(Linux)") || line.contains("TARGET_OS_OSX")
      if line.hasPrefix("#if") {
        skipped.append(isOfAnother)
      } else if line.hasPrefix("#el") {
        skipped[skipped.count - 1] = isOfAnother
      } else if line.hasPrefix("#endif") {
        skipped.removeLast()
      } else if !skipped.contains(true), !line.hasPrefix("//"), !line.hasPrefix("/*") {
        lines.append(line)
      }
    }
    return lines.joined(separator: "\n")
  }
}
