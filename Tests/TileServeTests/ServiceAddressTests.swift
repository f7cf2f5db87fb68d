import TestSupport
import Testing
import TileServe

@Suite(.ownThread) struct ServiceAddressTests {
  @Test func pathsComeAfterTheBasePath() {
    let address = ServiceAddress(origin: "https://maps.example.org", basePath: "/tiles")
    #expect(address.url("/park.json") == "https://maps.example.org/tiles/park.json")
    #expect(address.path("/park.json") == "/tiles/park.json")
  }
}
