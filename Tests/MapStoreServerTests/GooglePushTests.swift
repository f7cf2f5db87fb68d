import Crypto
import CryptoExtras
import Foundation
import Logging
import MapStoreWire
import PurchaseLedger
import TestSupport
import Testing

@testable import MapStoreServer

/// Pushes of Google's notifications are accepted with a token of Google's for this store.
@Suite(.ownThread) struct GooglePushTests {
  private struct Signer {
    let key: _RSA.Signing.PrivateKey
    let id: String

    init(_ id: String) throws { (key, self.id) = (try _RSA.Signing.PrivateKey(keySize: .bits2048), id) }

    /// As a JSON Web Key Set has it.
    func published() throws -> String {
      let numbers = try key.publicKey.getKeyPrimitives()
      return
        #"""
        {"kty":"RSA","alg":"RS256","use":"sig","kid":"\#(id)","n":"\#(Self.text(numbers.modulus))",\#
        "e":"\#(Self.text(numbers.publicExponent))"}
        """#
    }

    static func text(_ bytes: some DataProtocol) -> String {
      Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    func token(_ claims: String, algorithm: String = "RS256") throws -> String {
      let head = #"{"alg":"\#(algorithm)","kid":"\#(id)","typ":"JWT"}"#
      let signed = "\(Self.text(Array(head.utf8))).\(Self.text(Array(claims.utf8)))"
      let signature = try key.signature(for: SHA256.hash(data: Data(signed.utf8)), padding: .insecurePKCS1v1_5)
      return "\(signed).\(Self.text(signature.rawRepresentation))"
    }
  }

  private static func claims(
    iss: String = "https://accounts.google.com", aud: String = "https://shop.example.org/push", from: Int64 = -10,
    until: Int64 = 3600, email: String = "push@example.iam.gserviceaccount.com", isVerified: Bool = true
  ) -> String {
    let now = TestStore.now / 1000
    return
      #"""
      {"iss":"\#(iss)","aud":"\#(aud)","iat":\#(now + from),"exp":\#(now + until),"email":"\#(email)",\#
      "email_verified":\#(isVerified)}
      """#
  }

  private static let body: [UInt8] = {
    let data = Data(
      #"""
      {"version":"1.0","packageName":"org.example.maps","eventTimeMillis":"1789999999000",\#
      "oneTimeProductNotification":{"version":"1.0","notificationType":1,"purchaseToken":"token-1",\#
      "sku":"org.example.maps.alps"}}
      """#
      .utf8)
    return Array(
      #"""
      {"message":{"data":"\#(data.base64EncodedString())","messageId":"1","publishTime":"2026-01-01T00:00:00Z"},\#
      "subscription":"s"}
      """#
      .utf8)
  }()

  @Test func onlyGoogleTokensForThisStoreAreAccepted() async throws {
    let folder = try TemporaryFolder()
    let (google, other, next) = (try Signer("one"), try Signer("one"), try Signer("two"))
    let keys = try folder.write("certs.json", "{\"keys\":[\(google.published())]}")
    try await TestStore.run {
      $0.googlePush = StoreOptions.PushRule(
        keys: keys, audience: "https://shop.example.org/push", account: "push@example.iam.gserviceaccount.com")
    } _: { store in
      func push(_ token: String?) async throws -> HTTPResponse {
        try await store.send(
          "POST", StoreRoute.googleNotifications.path, token.map { ["Authorization": "Bearer \($0)"] } ?? [:],
          body: Self.body)
      }
      let good = try google.token(Self.claims())
      let parts = good.split(separator: ".")
      let refused: [(String?, Comment)] = [
        (nil, "no token"), ("nonsense", "no JWT"), (try other.token(Self.claims()), "another's signature"),
        (try next.token(Self.claims()), "an unknown key"),
        (try google.token(Self.claims(), algorithm: "HS256"), "HS256"),
        (try google.token(Self.claims(), algorithm: "none"), "none"),
        (try google.token(Self.claims(iss: "https://accounts.example.org")), "issuer"),
        (try google.token(Self.claims(aud: "https://other.example.org")), "audience"),
        (try google.token(Self.claims(until: -120)), "over"), (try google.token(Self.claims(from: 600)), "not begun"),
        (try google.token(Self.claims(email: "x@example.iam.gserviceaccount.com")), "another service account"),
        (try google.token(Self.claims(isVerified: false)), "an address that is not verified"),
        ("\(parts[0]).\(Signer.text(Array(Self.claims(until: 9000).utf8))).\(parts[2])", "altered claims"),
        ("\(parts[0]).\(parts[1]).", "no signature"),
      ]
      for (token, why) in refused {
        let answer = try await push(token)
        #expect(try answer.status == 401 && answer.problem().type == .unauthorized, why)
      }
      #expect(try store.ledger.lookups().isEmpty)
      let taken = try await push(good)
      #expect(taken.status == 200, "\(taken)")
      #expect(try store.ledger.lookups().count == 1)

      // Google's next key, in a file that replaces the old one; an unreadable file changes nothing.
      try folder.write("certs.json", "{\"keys\":[\(try next.published())]}")
      #expect(try await push(try next.token(Self.claims())).status == 200)
      #expect(try await push(good).status == 401)
      try folder.write("certs.json", "{\"keys\":[")
      #expect(try await push(try next.token(Self.claims())).status == 200)
    }
  }

  @Test(arguments: ["", "[]", "{\"keys\":[]}", #"{"keys":[{"kty":"RSA","kid":"a","n":"!","e":"AQAB"}]}"#])
  func unreadableKeys(_ text: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("certs.json", text)
    #expect(throws: StoreError.self) {
      try GooglePush(.init(keys: path, audience: "a"), logger: .init(label: "test"))
    }
  }
}
