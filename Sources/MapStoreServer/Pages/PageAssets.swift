import MapStoreWire
import Support

/// The pages' own style sheets and scripts, embedded in the program.
enum PageAssets {
  static let bodies = [
    "store.css": ReplyBody(PackageResources.store_css), "store.js": ReplyBody(PackageResources.store_js),
    "region.js": ReplyBody(PackageResources.region_js),
  ]

  /// The address, as HTML; another one for each version, so that browsers need not ask again.
  static func path(_ name: String, _ body: ReplyBody?) -> String {
    let version = body.map { "?v=\($0.tag.prefix(8))" } ?? ""
    return Markup.escaped(StoreRoute.asset.path(name) + version)
  }
}
