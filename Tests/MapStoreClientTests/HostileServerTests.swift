import Crypto
import Foundation
import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// A hostile server. Whatever it sends, the library neither traps nor touches anything outside its folder, and
/// its errors name the server as the cause.
@Suite(.ownThread) struct HostileServerTests {
  /// A member of an answer, and an invalid value for it.
  struct Member: Sendable, CustomTestStringConvertible {
    let route: String
    let path: String
    let lies: [String]
    var testDescription: String { "\(route) \(path)" }

    init(_ route: String, _ path: String, _ lies: [String]) { (self.route, self.path, self.lies) = (route, path, lies) }
  }

  private static let names = [
    #""../precious/other""#, #""/etc/other""#, #""""#, #"".""#, #""a\u0000b""#, #""a\u001b[2Jb""#, #""a\u202eb""#,
    "\"\(String(repeating: "x", count: 300))\"", "5", "null",
  ]
  /// In texts that may have several lines.
  private static let longTexts = [#""a\u001b[2Jb""#, #""a\u202eb""#, #""a\u2067b""#, #""a\u0000b""#, #""a\rb""#]
  private static let texts = longTexts + [#""a\nb""#, #""a\tb""#]
  private static let codes = texts + [#""""#, #""a b""#]
  private static let sizes = ["-5", "0", "-9223372036854775808", "9223372036854775807", "1e300", #""many""#]
  private static let hashes = [#""""#, #""../x""#, "\"\(String(repeating: "G", count: 64))\"", "null"]
  private static let times = ["-1", "-9223372036854775808", "9223372036854775807", "1e300"]
  private static let boxes = ["[1,2,3]", "[]", "[1e300,0,1e301,1]", "[0,50,1,40]", "[0,-1e9,1,1e9]"]
  private static let zooms = ["-1", "99", "9223372036854775807"]

  private static let (region, page, tickets) = ("GET /v1/regions/alps", "GET /v1/catalogue", "POST /v1/downloads")
  private static let (library, purchases) = ("POST /v1/library", "POST /v1/purchases")
  private static let (grants, keys) = ("GET /v1/grants", "GET /v1/grants/key")

  static let members =
    [
      Member(region, "region.id", names + [#""coast""#]), Member(region, "region.productId", codes),
      Member(region, "region.title", texts), Member(region, "region.category", texts),
      Member(region, "region.description", longTexts), Member(region, "region.attribution", texts),
      Member(region, "region.bounds", boxes), Member(region, "region.previewBounds", boxes),
      Member(
        region, "region.boundary",
        [
          #"{"type":"Polygon","coordinates":[[]]}"#,
          #"{"type":"Polygon","coordinates":[[[1e300,0],[1,1],[2,2],[0,0]]]}"#,
          #"{"type":"MultiPolygon","coordinates":[[[[0,0]]]]}"#,
        ]),
      Member(
        region, "region.tileMatrixSet",
        [
          #""None""#, #"{"id":"x","tileEdges":[]}"#, #"{"id":"x","tileEdges":[1e-300]}"#,
          #"{"id":"x","tileEdges":[1],"tileSizes":[0]}"#, #"{"id":"x","tileEdges":[-1e300,0]}"#,
        ]), Member(region, "region.minzoom", zooms), Member(region, "region.maxzoom", zooms),
      Member(region, "region.format", [#""exe""#]), Member(region, "region.file", names),
      Member(region, "region.bytes", sizes), Member(region, "region.sha256", hashes),
      Member(region, "region.tileCount", ["-5", "9223372036854775807"]), Member(region, "region.tilesHash", hashes),
      Member(region, "region.edition", names), Member(region, "region.preview.file", names),
      Member(region, "region.packs.0.file", names + [#""notes.txt""#]),
      Member(region, "region.packs.0.bytes", sizes),
      Member(region, "region.packs.0.sha256", hashes), Member(region, "region.packs.0.bounds", boxes),
      Member(region, "region.packs.0.minzoom", zooms), Member(region, "region.packs.0.maxzoom", zooms),
      Member(region, "region.packs.0.roots", [#"["30/0/0","31/0/0"]"#, #"["9/9999/0"]"#, #"["-1/0/0"]"#, #"["x"]"#]),
      Member(region, "region.packs.0.tileCount", ["-5"]), Member(region, "region.patches.0.file", names),
      Member(region, "region.patches.0.bytes", sizes), Member(region, "region.patches.0.sha256", hashes),
      Member(region, "region.patches.0.fromEdition", names), Member(region, "region.patches.0.fromTilesHash", hashes),
      Member(library, "regions.0.id", names), Member(library, "regions.0.productId", codes),
      Member(library, "regions.0.title", texts),
      Member(library, "regions.0.status", [#""free""#]), Member(library, "regions.0.edition", names),
      Member(library, "regions.0.bytes", sizes), Member(library, "regions.0.installedEdition", names.dropLast()),
      Member(library, "regions.0.patchBytes", sizes), Member(library, "regions.1.id", [#""alps""#]),
      Member(purchases, "results", ["[]", "{}"]), Member(purchases, "results.0.outcome", [#""maybe""#]),
      Member(purchases, "results.0.reason", codes), Member(purchases, "results.0.detail", texts),
      Member(purchases, "results.0.environment", codes),
      Member(purchases, "results.0.items", [#"[{"transactionId":"a\u001bb","productId":"p","entitlement":"active"}]"#]),
      Member(
        purchases, "results.0.items",
        [#"[{"transactionId":"a","productId":"p","regionId":"../x","entitlement":"active"}]"#]),
      Member(
        tickets, "url",
        [
          #""file:///etc/passwd""#, #""http+unix://%2Ftmp%2Fx""#, #""ftp://a/b""#, #""http://""#, #""http://a@b/c""#,
          #""/a\r\nHost: b""#, #""""#, "5",
        ]), Member(tickets, "expiresAt", times), Member(tickets, "regionId", names + [#""coast""#]),
      Member(tickets, "edition", names + [#""7""#]), Member(tickets, "file", names), Member(tickets, "bytes", sizes),
      Member(tickets, "sha256", hashes),
      Member(grants, "payload", [#""*""#, #""""#, "5"]), Member(grants, "signature", [#""*""#, #""""#]),
      Member(grants, "keyId", codes), Member(keys, "keys.0.keyId", codes), Member(keys, "keys.0.algorithm", codes),
      Member(keys, "keys.0.publicKey", [#""*""#, #""""#]),
      Member(page, "regions.0.id", names), Member(page, "regions.0.bounds", boxes),
      Member(page, "regions.0.bytes", sizes),
      Member(page, "regions.0.title", texts), Member(page, "regions.0.edition", names),
      Member(page, "regions.0.maxzoom", zooms), Member(page, "regions.0.packs", ["-1"]),
      Member(page, "regions.0.preview", [#""file:///x""#]), Member(page, "total", ["-1", "9223372036854775807"]),
      Member(page, "categories.0.regions", ["-1"]), Member(page, "categories.0.category", texts),
      Member(page, "regions.0.near", [#"{"distanceMetres":-1,"isInside":true,"packs":[]}"#]),
      Member(
        page, "regions.0.near",
        [#"{"distanceMetres":1,"isInside":true,"packs":[{"file":"../x","bytes":1,"isOverview":true}]}"#]),
      Member(page, "regions.0.places", [#"[{"name":"x","kind":"y","longitude":1e300,"latitude":0}]"#]),
      Member("POST /v1/sessions", "token", codes),
      Member(
        "POST /v1/sessions", "deviceToken",
        codes + [
          "\"\(String(repeating: "x", count: 200_000))\\u001b\\u202e\\n\"", "\"\(String(repeating: "x", count: 513))\"",
        ]),
      Member("POST /v1/sessions", "expiresAt", times),
      Member("POST /v1/sessions", "account.id", codes), Member("POST /v1/sessions", "account.appAccountToken", codes),
      Member("GET /v1/account", "id", codes), Member("POST /v1/accounts", "appAccountToken", codes),
    ]

  /// Published once, and not changed.
  private static let shop = Result {
    let shop = try SampleShop()
    _ = try shop.publish("alps", packs: true)
    _ = try shop.publish("alps", packs: true)
    _ = try shop.publish("coast")
    return shop
  }

  private let store: ChaosStore
  private let folder: TemporaryFolder
  private let client: StoreClient
  private let key = Curve25519.Signing.PrivateKey()

  init() throws {
    store = try ChaosStore(try Self.shop.get(), owned: ["alps"])
    folder = try TemporaryFolder()
    for path in ["maps/device", "maps/precious", "precious"] {
      try FileManager.default.createDirectory(atPath: folder.file(path), withIntermediateDirectories: true)
    }
    for name in [
      "other.mbtiles", "maps/other.mbtiles", "maps/precious/other.mbtiles", "maps/precious/other", "notes.txt",
    ] {
      try folder.write(name, "precious")
    }
    client = try Device(store).client
  }

  private func manager() throws -> OfflineRegionManager {
    try OfflineRegionManager(
      folder: folder.file("maps/device"), options: Device.options(), grants: .init(keysChanged: { _ in }))
  }

  private struct Anything: StoreQueue {
    func outstanding() async throws -> [OutstandingTransaction] { [OutstandingTransaction(id: "1", signed: "coast")] }
    func finish(_ id: String) async throws {}
  }

  /// Answers of routes that the other tests do not use.
  private static let others = [
    page: #"""
    {"regions":[{"id":"alps","productId":"p","title":"A","category":"c","bounds":[0,0,1,1],"minzoom":0,"maxzoom":3,
    "edition":"1","bytes":5,"packs":0}],"total":1,"categories":[{"category":"c","regions":1}]}
    """#, "GET /v1/account": #"{"id":"a","appAccountToken":"t"}"#,
    "POST /v1/accounts": #"{"id":"a","appAccountToken":"t"}"#,
    grants: #"{"payload":"AAAA","signature":"AAAA","keyId":"k"}"#,
    keys: #"{"keys":[{"keyId":"k","algorithm":"Ed25519","publicKey":"AAAA"}]}"#,
  ]

  /// Makes the server change a member of its answers.
  private func change(_ route: String, _ path: String, _ lie: String) {
    store.lie.withLock {
      $0 = { name, honest in
        var answer = honest
        if let other = Self.others[name] { (answer.status, answer.body) = (200, Array(other.utf8)) }
        guard name == route, let document = try? JSONValue(parsing: answer.body),
          let value = try? JSONValue(parsing: Array(lie.utf8))
        else { return answer }
        answer.body = document.replacing(path.split(separator: ".").map(String.init)[...], with: value).bytes
        return answer
      }
    }
  }

  /// Calls the client so that it requests the route.
  private func ask(_ route: String) async throws {
    let manager = try self.manager()
    switch route {
    case Self.page: _ = try await client.catalogue()
    case "GET /v1/account": _ = try await client.account()
    case "POST /v1/accounts": _ = try await client.register(Credentials(login: "a", password: "password"))
    case "POST /v1/sessions": try await client.signIn(Credentials(login: "a", password: "password"))
    case Self.grants, Self.keys: try await manager.refreshGrants(from: client)
    case Self.library, Self.purchases: _ = try await manager.sync(with: client, queue: Anything())
    default:
      try await manager.install("alps", from: client)
      try await manager.install("alps", around: .point(longitude: 5, latitude: 5), from: client)
    }
  }

  private func files(except excluded: String) throws -> [String: Data] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(excluded) }
    return Dictionary(uniqueKeysWithValues: names.map { ($0, (try? folder.bytes($0)) ?? Data()) })
  }

  @Test(arguments: members) func everyMemberIsChecked(_ member: Member) async throws {
    let before = try files(except: "maps/device")
    for lie in member.lies {
      change(member.route, member.path, lie)
      await #expect("\(lie)") { try await ask(member.route) } throws: { error in
        let error = error as? MapStoreError
        return [.damaged, .grant].contains(error?.code) && !"\(error!)".contains("\u{1b}")
      }
      #expect(try files(except: "maps/device") == before, "\(lie)")
      let left = try FileManager.default.contentsOfDirectory(atPath: folder.file("maps/device"))
      #expect(left == [".mapstore"], "\(lie)")
    }
  }

  /// Unchanged answers pass the same checks.
  @Test(arguments: [region, page, library, purchases, tickets, "POST /v1/sessions", "GET /v1/account"])
  func validAnswersAreAccepted(route: String) async throws {
    change("none", "", "null")
    if route == Self.tickets { store.book.withLock { $0.owned = ["alps", "coast"] } }
    try await ask(route)
  }

  /// Names in Arabic and Hebrew have marks of direction.
  @Test func directionMarksAreAccepted() async throws {
    change(Self.page, "regions.0.title", #""\u200fירושלים\u200e (J)""#)
    try await ask(Self.page)
    #expect("\u{200f}a\n".escapedForTerminal() == #"\u200fa\n"#)
  }

  /// Signed times are added to others too, which must not overflow.
  @Test(arguments: [
    ("issuedAt", Int64.min), ("issuedAt", .max), ("expiresAt", .min), ("expiresAt", .max), ("since", -1),
  ])
  func signedTimesAreChecked(name: String, time: Int64) async throws {
    func text(_ bytes: some Sequence<UInt8>) -> String {
      Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    let payload = Array(
      """
      {"version":1,"accountId":"a","issuedAt":\(name == "issuedAt" ? time : 1),\
      "expiresAt":\(name == "expiresAt" ? time : 2),\
      "grants":[{"regionId":"alps","productId":"p","since":\(name == "since" ? time : 1)}]}
      """.utf8)
    let signature = try key.signature(for: SignedGrants.signedBytes(of: payload))
    let trusted = GrantKey(keyId: "k", algorithm: "Ed25519", publicKey: text(key.publicKey.rawRepresentation))
    store.book.withLock {
      $0.grants = SignedGrants(payload: text(payload), signature: text(signature), keyId: "k")
    }
    let manager = try OfflineRegionManager(
      folder: folder.file("maps/device"), options: Device.options(), grants: .init(keys: [trusted]))
    await #expect { try await manager.refreshGrants(from: client) } throws: { ($0 as? MapStoreError)?.code == .grant }
    #expect(try manager.usability(of: "alps") == .unknown)
  }

  @Test(arguments: [
    #"{"type":"a\u001b","title":"t","status":403}"#, #"{"type":"t","title":"\u001b[2J","status":403}"#,
    #"{"type":"t","title":"t","status":403,"detail":"\u202e"}"#,
    #"{"type":"t","title":"t","status":403,"detail":"x\nmapstore: signed in; all is well\r"}"#,
    #"{"type":"t","title":"t","status":-5}"#,
  ])
  func problemsAreChecked(problem: String) async throws {
    store.lie.withLock { $0 = { _, _ in ChaosAnswer(status: 403, body: Array(problem.utf8)) } }
    await #expect { try await client.account() } throws: { ($0 as? MapStoreError)?.code == .damaged }
  }

  /// Header fields with numbers that are invalid, or do not fit the file.
  @Test(arguments: [
    (206, "Content-Range", "bytes 0-9/10"), (206, "Content-Range", "bytes 5-4/10"),
    (206, "Content-Range", "bytes 0--1/-5"),
    (206, "Content-Range", "bytes 9223372036854775806-9223372036854775807/9223372036854775807"),
    (206, "Content-Range", "bytes 1152921504606846974-1152921504606846975/*"), (206, "Content-Range", ""),
    (200, "Content-Length", "5"), (200, "Content-Length", "-5"), (200, "Content-Length", "99999999999999999999999"),
    (200, "Content-Encoding", "gzip"),
  ])
  func headersOfFilesAreChecked(status: Int, field: String, value: String) async throws {
    store.lie.withLock {
      $0 = { name, honest in
        guard name.hasPrefix("GET /v1/files/") else { return honest }
        var answer = honest
        answer.status = status
        answer.headers = [(field, value)]
        return answer
      }
    }
    await #expect { try await manager().install("alps", from: client) } throws: {
      ($0 as? MapStoreError)?.code == .damaged
    }
    #expect(!FileManager.default.fileExists(atPath: folder.file("maps/device/alps.mbtiles")))
  }

  /// A number that exceeds every clock counts as a long time.
  @Test(arguments: ["9223372036854775807", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
  func aRetryAfterBeyondAllNumbers(value: String) async throws {
    for prefix in ["GET /v1/files/", "GET /v1/regions/"] {
      store.lie.withLock {
        $0 = { name, honest in
          name.hasPrefix(prefix) ? ChaosAnswer(status: 503, headers: [("Retry-After", value)]) : honest
        }
      }
      await #expect { try await manager().install("alps", from: client) } throws: {
        ($0 as? MapStoreError)?.code == .unreachable && "\($0)".contains("31622400 s")
      }
    }
  }

  /// A pack whose name is valid, but that of another region's file, is refused.
  @Test func packMayNotReplaceTheFileOfAnotherRegion() async throws {
    store.book.withLock { $0.owned = ["alps", "coast"] }
    let manager = try self.manager()
    let coast = try await manager.install("coast", from: client)
    change(Self.region, "region.packs.0.file", #""Coast.mbtiles""#)
    await #expect {
      try await manager.install("alps", around: .point(longitude: 5, latitude: 5), from: client)
    } throws: { ($0 as? MapStoreError)?.code == .damaged }
    #expect(try await manager.verify("coast"))
    #expect(try manager.installed() == [coast])
  }

  /// Records that an older version stored from such a server are not resumed.
  @Test func oldNotesOfOtherFoldersAreLeftAlone() async throws {
    try _ = manager()
    do {
      let state = try SQLiteConnection(creating: folder.file("maps/device/.mapstore/state.sqlite"))
      try state.execute(
        """
        INSERT INTO installed VALUES ('../precious/other', '', '1', 8, '00', NULL, 1, 1, 1);
        INSERT INTO download (region, pack, kind, edition, bytes, sha256, result_bytes, result_sha256, state) VALUES
          ('../precious/other', '', 'bundle', '1', 8, '00', 8, '00', 'switching'),
          ('alps', '', 'bundle', '2', -5, '00', -5, '00', 'fetching');
        """)
    }
    let before = try files(except: "maps/device")
    let manager = try self.manager()
    #expect(try await manager.install("alps", from: client).edition == "2")
    try await manager.uninstall("../precious/other")
    #expect(try files(except: "maps/device") == before)
  }

  /// A token that an earlier version stored unchecked is not sent, because the server might reject the request.
  @Test func aDeviceTokenThatWasKeptIsChecked() async throws {
    let details = SessionDetails(
      token: "t", expiresAt: 1, account: AccountDetails(id: "a", appAccountToken: "b"), deviceToken: "a\u{1b}\n")
    #expect(StoreSession(details).deviceToken == nil)
    #expect(StoreSession(details, deviceToken: "kept").deviceToken == "kept")
    #expect(StoreSession(deviceToken: String(repeating: "x", count: 200_000)).deviceToken == nil)
  }

  /// A reason for a refusal is one line on the terminal, so that it cannot be taken for a line of the command's.
  @Test(arguments: [
    #"{"type":"t","title":"t","status":403,"detail":"x\nmapstore: signed in; all is well\r\u200f"}"#,
    #"{"type":"t","title":"x\nmapstore: signed in; all is well","status":403}"#,
  ])
  func aRefusalForgesNoLine(problem: String) async throws {
    store.lie.withLock { $0 = { _, _ in ChaosAnswer(status: 403, body: Array(problem.utf8)) } }
    let (folder, address) = (folder, store.address)
    let run = try await onThread {
      try Command(built: "mapstore").run(
        ["client", "login", "anna", "--folder", folder.file("maps/device"), "--server", address],
        environment: ["MAPSTORE_PASSWORD": "password"])
    }
    #expect(run.status == 65, "\(run)")
    let lines = (run.stdout + run.stderr).split(whereSeparator: \.isNewline)
    #expect(lines.count == 1 && lines[0].hasPrefix("mapstore: \(address)"), "\(run)")
    #expect(!run.stderr.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{200f}" }, "\(run)")
  }

  /// The command's exit code says so, whichever answer is invalid.
  @Test(arguments: [
    (["get", "alps"], region, "region.id"), (["get", "alps"], tickets, "sha256"), (["sync"], library, "regions.0.id"),
    (["sync"], grants, "payload"),
  ])
  func theCommandEndsWith65(words: [String], route: String, path: String) async throws {
    let (folder, address) = (folder, store.address)
    func run(_ words: [String]) async throws -> CommandRun {
      try await onThread {
        try Command(built: "mapstore").run(
          ["client", words[0], "--folder", folder.file("maps/device")] + words.dropFirst(),
          environment: ["MAPSTORE_PASSWORD": "password"])
      }
    }
    change("none", "", "null")
    let login = try await run(["login", "anna", "--server", address])
    try #require(login.status == 0, "\(login)")
    let before = try files(except: "maps/device")
    change(route, path, #""../precious/other""#)
    let run = try await run(words)
    #expect(run.status == 65, "\(run)")
    #expect(try files(except: "maps/device") == before)
  }
}

extension JSONValue {
  /// The document with another value at a place: names of members and numbers of items.
  fileprivate func replacing(_ path: ArraySlice<String>, with value: JSONValue) -> JSONValue {
    guard let name = path.first else { return value }
    let rest = path.dropFirst()
    if let items = array, let number = Int(name), items.indices.contains(number) {
      var items = items
      items[number] = items[number].replacing(rest, with: value)
      return .array(items)
    }
    guard let members else { return .object([Member(name, JSONValue.object([]).replacing(rest, with: value))]) }
    let inner = (self[name] ?? .object([])).replacing(rest, with: value)
    return .object(members.filter { $0.name != name } + [Member(name, inner)])
  }
}
