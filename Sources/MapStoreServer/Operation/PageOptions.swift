/// How the store's pages look, and where they lead: `pages` in the configuration.
package struct PageOptions: Sendable {
  /// The shop's name; nil for the word of the page's language.
  package var name: String?
  /// A file with the logo: SVG, PNG, WebP or JPEG.
  package var logo: String?
  /// The colour of links and buttons on a light page and on a dark one: `#2f6f4f`.
  package var accent: String?
  package var accentDark: String?
  /// Files with the texts of further languages.
  package var texts: [String] = []
  /// URLs with `{id}` and `{product}` in them: a link into the app, the app's pages in the app stores, and the
  /// operator's own checkout.
  package var openInApp: String?
  package var appStore: String?
  package var googlePlay: String?
  package var checkout: String?
  /// The apps whose universal links the pages are: `TEAMID.org.example.maps`.
  package var appleApps: [String] = []
  /// The app whose app links the pages are, and the SHA-256 fingerprints of its certificates.
  package var androidPackage: String?
  package var androidFingerprints: [String] = []

  package init() {}
}
