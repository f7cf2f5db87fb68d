import Support
import Testing

@testable import ServerSupport

/// One rule for both servers: those in the list.
struct TrustedProxiesTests {
  private struct Fields: HeaderFields {
    let fields: [String: [String]]
    func values(_ name: StaticString) -> [String] { fields["\(name)"] ?? [] }
  }

  @Test func theListMayBeginWithThisMachine() {
    for (hasThisMachine, isTrusted) in [(true, true), (false, false)] {
      let proxies = TrustedProxies(["192.0.2.7", "2001:DB8::1"], hasThisMachine: hasThisMachine)
      for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
        #expect(proxies.contains(ClientAddress(address)) == isTrusted, "\(address)")
      }
      #expect(proxies.contains(nil) == isTrusted, "a Unix socket")
      #expect(proxies.contains(ClientAddress("192.0.2.7")) && proxies.contains(ClientAddress("2001:db8:0::1")))
      #expect(!proxies.contains(ClientAddress("192.0.2.8")))
    }
    #expect(TrustedProxies(["127.0.0.1"]).contains(ClientAddress("127.0.0.1")))
  }

  @Test(
    arguments: [
      (["x-forwarded-for": ["203.0.113.7"]], "203.0.113.7"),
      (["x-forwarded-for": ["10.0.0.1, 203.0.113.7", "192.0.2.7"]], "203.0.113.7"),
      (["forwarded": ["for=203.0.113.7;proto=https"]], "203.0.113.7"),
      (["forwarded": ["for=\"[2001:db8::9]:443\", for=192.0.2.7"]], "2001:db8::9"),
      // Of a proxy that sends the older fields nobody has checked the newer one.
      (["forwarded": ["for=203.0.113.9"], "x-forwarded-for": ["203.0.113.7"]], "203.0.113.7"),
      (["forwarded": ["for=203.0.113.9"], "x-forwarded-proto": ["https"]], nil),
      (["x-forwarded-for": ["unknown"]], nil), (["x-forwarded-for": ["192.0.2.7"]], nil), ([:], nil),
    ] as [([String: [String]], String?)])
  func theClientIsTheLastAddressThatIsNoProxy(_ fields: [String: [String]], _ client: String?) {
    #expect(TrustedProxies(["192.0.2.7"]).client(of: Fields(fields: fields))?.text == client)
  }

  @Test func schemeAndHostComeFromEitherField() {
    let new = Fields(fields: ["forwarded": ["host=maps.example;proto=https"]])
    #expect(new.forwardedHost == "maps.example" && new.forwardedProto == "https" && new.forwardedFor == nil)
    let old = Fields(fields: ["x-forwarded-host": ["a.example"], "forwarded": ["proto=https"]])
    #expect(old.forwardedHost == "a.example" && old.forwardedProto == nil)
  }
}
