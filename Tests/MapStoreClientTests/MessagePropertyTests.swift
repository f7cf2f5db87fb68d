import Foundation
import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Nothing that a server sends may end the app: messages with any values in any places, and bytes that are none.
@Suite(.ownThread) struct MessagePropertyTests {
  /// A message of the server's, how it is read, and what the client does with it.
  struct Message: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    /// Whether the bytes are such a message, and pass its check.
    let read: @Sendable ([UInt8]) -> Bool
    var testDescription: String { name }
  }

  private static func message<Answer: ServerAnswer & Codable & Sendable>(
    _ type: Answer.Type, _ text: String, use: @escaping @Sendable (Answer) throws -> Void = { _ in }
  ) -> Message {
    Message(name: "\(type)", text: text) { bytes in
      guard let answer = try? WireJSON.decode(Answer.self, from: bytes) else { return false }
      // What it says must be printable whether it is valid or not.
      _ = "\(answer)"
      _ = try? WireJSON.encode(answer)
      guard (try? answer.check()) != nil else { return false }
      do { try use(answer) } catch { Issue.record("\(type): \(error)") }
      // It is stored and read again in the same form.
      guard let stored = try? WireJSON.encode(answer), let again = try? WireJSON.decode(Answer.self, from: stored),
        (try? again.check()) != nil
      else {
        Issue.record("\(type): cannot be stored: \(String(decoding: bytes, as: UTF8.self))")
        return false
      }
      return true
    }
  }

  private static let hash = String(repeating: "a", count: 64)
  private static let file = #""file":"f-1.mbtiles","bytes":5,"sha256":"\#(hash)""#
  private static let region = #"""
    {"id":"alps","productId":"p","title":"T","category":"c","description":"d","bounds":[0,0,1,1],
    "boundary":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"tileMatrixSet":"WebMercatorQuad",
    "minzoom":0,"maxzoom":2,"format":"png",\#(file),"tileCount":21,"tilesHash":"ab","edition":"1",
    "preview":{"file":"p.png","bytes":5,"sha256":"\#(hash)"},"attribution":"a","priceTier":"1",
    "packs":[{\#(file),"bounds":[0,0,1,1],"minzoom":0,"maxzoom":1,"roots":["1/0/0"],"tileCount":1,"isOverview":true}],
    "patches":[{"fromEdition":"0","fromTilesHash":"cd",\#(file)}]}
    """#

  static let messages: [Message] = [
    message(AccountDetails.self, #"{"id":"a","appAccountToken":"t"}"#),
    message(
      SessionDetails.self, #"{"token":"t","expiresAt":5,"account":{"id":"a","appAccountToken":"t"},"deviceToken":"d"}"#
    ) { details in
      let session = StoreSession(details)
      session.set(details)
    },
    message(
      CatalogPage.self,
      #"""
      {"regions":[{"id":"alps","productId":"p","title":"A","category":"c","description":"d\ne","bounds":[0,0,1,1],
      "boundary":{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]},"minzoom":0,"maxzoom":3,
      "edition":"1","bytes":5,"priceTier":"1","attribution":"a","packs":1,"preview":"/p","previewBounds":[0,0,1,1],
      "near":{"distanceMetres":5,"isInside":true,"packs":[{"file":"f.mbtiles","bytes":5,"isOverview":true}]},
      "places":[{"name":"n","kind":"k","longitude":1,"latitude":2}]}],
      "total":1,"categories":[{"category":"c","regions":1}],"nextCursor":"c"}
      """#),
    message(RegionDetails.self, #"{"region":\#(region),"isForSale":true}"#) { try use($0.region) },
    message(Catalog.Region.self, region) { try use($0) },
    message(
      Library.self,
      #"""
      {"regions":[{"id":"alps","productId":"p","title":"T","status":"updateAvailable","isForSale":true,"edition":"2",
      "bytes":5,"installedEdition":"1","patchBytes":3},{"id":"b","productId":"q","status":"forSale","isForSale":false,
      "edition":"1","bytes":5}]}
      """#),
    message(
      PurchaseResults.self,
      #"""
      {"results":[{"outcome":"booked","shouldFinish":true,"reason":"r","detail":"d","environment":"sandbox","items":[
      {"transactionId":"1","productId":"p","regionId":"alps","entitlement":"active","reason":"r"}]}]}
      """#
    ) { for result in $0.results { _ = result.isAnotherAccounts } },
    message(
      DownloadTicket.self,
      #"{"url":"https://a.example:81/f?x=1","expiresAt":5,"regionId":"alps","edition":"1",\#(file)}"#
    ) { ticket in
      for server in ["http://a", "https://a:443/maps"] {
        guard (try? AnswerRule.url(ticket.url, "url", of: server)) != nil else { continue }
        // What is allowed must be usable: the transports trap on some addresses that are none.
        let address = try HTTPAddress(ticket.url.hasPrefix("/") ? server + ticket.url : ticket.url)
        if let port = address.port { #expect((1...65_535).contains(port)) }
      }
    },
    message(SignedGrants.self, #"{"payload":"AAAA","signature":"AAAA","keyId":"k"}"#) { signed in
      _ = try? GrantVerifier([GrantKey(keyId: "k", algorithm: "Ed25519", publicKey: hash)]).document(signed)
    },
    message(
      GrantDocument.self,
      #"""
      {"version":1,"accountId":"a","issuedAt":1,"expiresAt":2,"grants":[{"regionId":"alps","productId":"p","since":1}]}
      """#
    ) { document in
      _ = abs(Int64.max - document.issuedAt)
      _ = min(document.expiresAt, document.issuedAt.addingClamped(.max))
    },
    message(GrantKeys.self, #"{"keys":[{"keyId":"k","algorithm":"Ed25519","publicKey":"AAAA"}]}"#) {
      _ = GrantVerifier($0.keys)
    },
    message(Problem.self, #"{"type":"urn:map-store:problem:failed","title":"t","status":500,"detail":"d; e"}"#) {
      _ = [$0.description, $0.errorDescription, $0.recoverySuggestion]
    },
  ]

  /// What the client does with a region of the catalogue before it downloads anything.
  private static func use(_ region: Catalog.Region) throws {
    let wanted = [InstallPlan.whole(region)] + region.packs.compactMap { InstallPlan.pack(region, file: $0.file) }
    for file in wanted { #expect(file.part.isSafe && file.bytes > 0) }
    let installed = InstalledFile(
      part: RegionPart(region: region.id), edition: "0", bytes: 5, sha256: hash, installedAt: 1)
    _ = InstallPlan.patch(region, from: installed)
    let index = TilePackIndex(region)
    for column in 0..<4 { _ = index.pack(of: TileID(unchecked: 2, column, column)) }
    _ = index.packs(longitude: 0.5, latitude: 0.5)
    _ = index.packs(in: BoundingBox(west: 170, south: -80, east: -170, north: 80))
  }

  // MARK: Mutations

  /// Values that were, or might be, taken for something else.
  private static let values = [
    "null", "true", "0", "-1", "1", "-0", "0.5", "1e300", "-1e300", "1e-300", "1e999", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "18446744073709551616", "4503599627370497.5", "253402300800000",
    "17592186044417", #""""#, #""a""#, #""..""#, #""../x""#, #""a\u0000b""#, #""\u001b[2J""#, #""\u202e""#,
    #""\ud7ff""#,
    #""https://a:65536/""#, #""https://[]/""#, #""http://127.0.0.1:99999999999999999999/f""#, #""//a:70000/f""#,
    #""NaN""#, #""Infinity""#, #""30/0/0""#, #""99/0/0""#, #""-1/-1/-1""#, "[]", "[[]]", "{}", #"{"":0}"#,
    "[1,2,3,4]", "[1e300,0,1e301,1]", "[-180,-90,180,90]", "[540,90,-540,90]", #"{"type":"Polygon","coordinates":[]}"#,
    #"{"id":"x","tileEdges":[1e-300]}"#, #"{"id":"x","tileEdges":[1e300,1],"origin":[1e300,-1e300]}"#,
    #"{"id":"x","crs":"EPSG:3857","tileEdges":[40075016.7],"tileSizes":[9223372036854775807]}"#,
  ].map { try! JSONValue(parsing: Array($0.utf8)) }

  private static func mutated(_ value: JSONValue, _ random: inout SeededGenerator) -> JSONValue {
    switch (value, Int.random(in: 0..<6, using: &random)) {
    case (_, 0): return values.randomElement(using: &random)!
    case (.array(var items), 1) where !items.isEmpty:
      items.remove(at: Int.random(in: items.indices, using: &random))
      return .array(items)
    case (.array(let items), 2):
      return .array(items + items + [values.randomElement(using: &random)!])
    case (.array(var items), _) where !items.isEmpty:
      let index = Int.random(in: items.indices, using: &random)
      items[index] = mutated(items[index], &random)
      return .array(items)
    case (.object(var members), 1) where !members.isEmpty:
      members.remove(at: Int.random(in: members.indices, using: &random))
      return .object(members)
    case (.object(let members), 2):
      guard let member = members.randomElement(using: &random) else { return value }
      return .object(members + [.init(member.name, values.randomElement(using: &random)!)])
    case (.object(var members), _) where !members.isEmpty:
      let index = Int.random(in: members.indices, using: &random)
      members[index].value = mutated(members[index].value, &random)
      return .object(members)
    case (.string(let text), _):
      let scalar = Unicode.Scalar(UInt32.random(in: 0..<0xd800, using: &random))!
      return .string(
        text + String(Character(scalar)) + String(repeating: "x", count: Int.random(in: 0...300, using: &random)))
    case (.number(let digits), _): return .number(digits + String(UInt64.random(in: 0 ... .max, using: &random)))
    default: return values.randomElement(using: &random)!
    }
  }

  /// Other bytes at some places, some twice, some missing.
  private static func damaged(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0...Int.random(in: 0..<4, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: bytes.indices, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.removeSubrange(place...)
      case 2: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
      case 3: bytes.insert(contentsOf: [UInt8](repeating: bytes[place], count: 2000), at: place)
      default: bytes[place] = Array(#"{}[]",:\-0e.x"#.utf8).randomElement(using: &random)!
      }
    }
    return bytes
  }

  @Test(arguments: messages) func noMessageTraps(_ message: Message) throws {
    #expect(message.read(Array(message.text.utf8)), "the message itself is valid")
    let honest = try JSONValue(parsing: Array(message.text.utf8))
    var valid = 0
    for seed in 0..<(TestEffort.isFull ? 100_000 : 1_500) as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var document = honest
      for _ in 0...Int.random(in: 0..<3, using: &random) { document = Self.mutated(document, &random) }
      var bytes = document.bytes
      if seed % 4 == 0 { bytes = Self.damaged(bytes, &random) }
      if message.read(bytes) { valid += 1 }
    }
    // Otherwise nothing behind the check was tried.
    #expect(valid > 0)
  }

  /// Depth, repeated names and long runs, in place of a message and inside of one.
  @Test(arguments: messages) func structuresWithoutSenseAreRefused(_ message: Message) throws {
    let deep = String(repeating: "[", count: 100_000)
    let objects = String(repeating: #"{"a":"#, count: 100_000)
    let twice = message.text.dropLast() + "," + message.text.dropFirst()
    for text in [
      deep, deep + String(repeating: "]", count: 100_000), objects, String(twice), "", " ", "\u{0}", "{", "\"", "\"\\u",
    ] {
      #expect(!message.read(Array(text.utf8)), "\(text.prefix(100))")
    }
    _ = message.read(Array((message.text.dropLast() + #","unknown":\#(deep)}"#).utf8))
    _ = message.read([0xff, 0xfe, 0x7b, 0x00])
  }

  // MARK: The client

  /// Any answer of a whole session of a device may be wrong. Nothing outside of the folder changes, and once the server
  /// is honest again the device goes on.
  @Test(arguments: 0..<(TestEffort.isFull ? 2_000 : 40) as Range<UInt64>)
  func aDeviceSurvivesAnyAnswer(seed: UInt64) async throws {
    let shop = try Self.shop.get()
    let store = try ChaosStore(shop, owned: ["alps"])
    defer { store.stop() }
    let device = try Device(store)
    let number = Locked(seed &* 10_000)
    store.lie.withLock {
      $0 = { name, honest in
        var random = SeededGenerator(
          seed: number.withLock { number in
            number += 1
            return number
          })
        var answer = honest
        guard Int.random(in: 0..<3, using: &random) == 0 else { return answer }
        if Int.random(in: 0..<8, using: &random) == 0 {
          answer.status = [200, 206, 301, 401, 404, 409, 416, 429, 500, 503].randomElement(using: &random)!
        }
        if Int.random(in: 0..<6, using: &random) == 0 {
          let fields = ["ETag", "Content-Range", "Content-Encoding", "Content-Type", "Retry-After", "Location"]
          let values = [
            "", "0", "-1", "\"a\"", "bytes 0-0/1", "bytes 9-1/*", "99999999999999999999", "text/html", "gzip",
          ]
          answer.headers.append((fields.randomElement(using: &random)!, values.randomElement(using: &random)!))
        }
        if name.hasPrefix("GET /v1/files/") {
          answer.body = Self.damaged(answer.body, &random)
        } else if let document = try? JSONValue(parsing: answer.body) {
          answer.body = Self.mutated(document, &random).bytes
          if Int.random(in: 0..<4, using: &random) == 0 { answer.body = Self.damaged(answer.body, &random) }
        }
        return answer
      }
    }
    do {
      let manager = try device.manager { $0.retry.attemptsMax = 2 }
      _ = try? await manager.sync(with: device.client)
      _ = try? await manager.install("alps", from: device.client)
      _ = try? await manager.install("alps", around: .point(longitude: 5, latitude: 5), from: device.client)
      _ = try? await manager.update(from: device.client)
      _ = try manager.regions()
    }
    store.lie.withLock { $0 = { $1 } }
    let manager = try device.manager()
    let file = try await manager.install("alps", from: device.client)
    #expect(file.sha256 == shop.region("alps")?.sha256, "seed \(seed)")
    for resumed in try await manager.sync(with: device.client).resumed {
      #expect(throws: Never.self, "seed \(seed)") { try resumed.result.get() }
    }
    #expect(device.remains == [], "seed \(seed)")
  }

  /// Published once, and not changed.
  private static let shop = Result {
    let shop = try SampleShop()
    _ = try shop.publish("alps", packs: true)
    _ = try shop.publish("alps", packs: true)
    return shop
  }
}
