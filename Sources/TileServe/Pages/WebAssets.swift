import ServerSupport

/// The pages' own assets, embedded in the program.
package enum ViewerAssets {
  /// The file of `/_assets/NAME`, such as `style.css`; nil for unknown names.
  package static func asset(named name: String) -> (bytes: [UInt8], mediaType: String)? {
    guard let bytes = contents(name) else { return nil }
    return (bytes, MediaType.ofFile(named: name))
  }

  /// The known names.
  package static let names = [
    "style.css", "viewer.css", "index.js", "viewer-shared.js", "viewer-fitted.js", "viewer-grid.js",
    "viewer-leaflet.js", "viewer-maplibre.js", "viewer-search.js", "viewer-track.js", "icon.svg",
  ]

  private static func contents(_ name: String) -> [UInt8]? {
    switch name {
    case "style.css": PackageResources.style_css
    case "viewer.css": PackageResources.viewer_css
    case "index.js": PackageResources.index_js
    case "viewer-shared.js": PackageResources.viewer_shared_js
    case "viewer-fitted.js": PackageResources.viewer_fitted_js
    case "viewer-grid.js": PackageResources.viewer_grid_js
    case "viewer-leaflet.js": PackageResources.viewer_leaflet_js
    case "viewer-maplibre.js": PackageResources.viewer_maplibre_js
    case "viewer-search.js": PackageResources.viewer_search_js
    case "viewer-track.js": PackageResources.viewer_track_js
    case "icon.svg": PackageResources.icon_svg
    default: nil
    }
  }
}
