import Support
import TileIndex

/// The frame of every page. It has no inline scripts and loads nothing from other servers, as ``contentSecurityPolicy``
/// requires.
package enum HTMLPage {
  /// The `Content-Security-Policy` of all pages. `worker-src blob:` is for MapLibre GL, which creates its worker that
  /// way; `data:` is for the images in its style sheet, `blob:` for tiles that it decodes.
  package static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    + "worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

  /// - Parameters:
  ///   - assets: names below `/_assets/`; style sheets and scripts, the latter run in this order when the page is
  ///     there.
  ///   - body: HTML, already escaped.
  static func document(
    title: String, bodyClass: String, assets: [String], at address: ServiceAddress, body: String
  ) -> [UInt8] {
    func path(_ name: String) -> String { Markup.escaped(address.path(ServicePaths.asset(name))) }
    let links = assets.map { name in
      name.hasSuffix(".css")
        ? "<link rel=\"stylesheet\" href=\"\(path(name))\">" : "<script src=\"\(path(name))\" defer></script>"
    }
    return Array(
      """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <title>\(Markup.escaped(title))</title>
      <link rel="icon" type="image/svg+xml" href="\(path("icon.svg"))">
      \(links.joined(separator: "\n"))
      </head>
      <body class="\(bodyClass)">
      \(body)
      </body>
      </html>

      """.utf8)
  }
}

/// Instructions for installing a missing map library, as HTML.
enum MissingLibrary {
  static let leaflet = """
    <p>Maps of raster tiles need <b>Leaflet</b>, which is not installed here. Install it and load this page again:</p>
    <pre>apt-get install libjs-leaflet</pre>
    """
  static let maplibre = """
    <p>Maps of vector tiles need <b>MapLibre GL</b>, which is not installed here. Install it with this project's make \
    target, \
    or name a folder that has maplibre-gl.js and maplibre-gl.css in the environment variable TILESERVE_WEB:</p>
    <pre>make web-libraries</pre>
    """
}
