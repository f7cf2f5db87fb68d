import Support
import TileIndex

/// Leaflet as it lies on this machine. It is served from where it was installed; none of it is part of this package.
struct WebLibrary: Sendable {
  /// The folder with `leaflet.js`, `leaflet.css` and `images`, or nil.
  let leaflet: String?

  /// Looks in folders and in their sub-folders `leaflet`; the first that is whole is taken.
  init(folders: [String]) {
    leaflet = folders.flatMap { [$0, "\($0)/leaflet"] }.first { folder in
      ["leaflet.js", "leaflet.css"].allSatisfy { FileStamp("\(folder)/\($0)") != nil }
    }
  }

  /// Names end on a fixed list, so that none leads out of the folder.
  func path(of asset: String) -> String? {
    guard let leaflet, ["leaflet.js", "leaflet.css"].contains(asset) else { return nil }
    return "\(leaflet)/\(asset)"
  }
}
