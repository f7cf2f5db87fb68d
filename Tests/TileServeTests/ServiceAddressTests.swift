import TestSupport
import Testing

@testable import TileServe

@Suite(.ownThread) struct ServiceAddressTests {
  @Test func pathsComeAfterTheBasePath() {
    let address = ServiceAddress(origin: "https://maps.example.org", basePath: "/tiles")
    #expect(address.url("/park.json") == "https://maps.example.org/tiles/park.json")
    #expect(address.path("/park.json") == "/tiles/park.json")
  }
  /// An address that would end or mislead clients is refused before the server listens.
  @Test(arguments: ["https://maps.example.org:65536", "maps.example.org", "https://", "ftp://maps.example.org"])
  func unusablePublicURLsAreRefused(_ url: String) async throws {
    var options = TileServerOptions()
    try options.check()
    options.publicURL = "https://maps.example.org:8443/tiles"
    try options.check()
    options.publicURL = url
    #expect { try options.check() } throws: { ($0 as? ServeError)?.code == .invalidOption && "\($0)".contains(url) }
  }
}
