import Accounts
import Crypto
import Foundation
import Logging
import MapStoreClient
import MapStoreServer
import MapStoreWire
import OfflineMap
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing
import TileIndex
import TilePrefetch

/// The examples of the DocC articles run.
@Suite(.ownThread) struct ExampleTests {
  private static let packageName = "org.example.maps"
  private static let product = "org.example.maps.alps"

  /// Google's answer about a purchase, which the operator asserts.
  private static let purchase = """
    {"kind": "androidpublisher#productPurchase", "orderId": "GPA.1", "purchaseState": 0, \
    "purchaseTimeMillis": "1770000000000"}
    """
  private static let context = EvidenceContext(
    productID: product, purchaseToken: "a-long-token-1", packageName: packageName, environment: .production)

  @Test func tileIndex() throws {
    let folder = try TemporaryFolder()
    let world = try TileID(zoom: 0, column: 0, row: 0)
    let alps = try TileID(zoom: 1, column: 1, row: 0)
    let images = (try SampleTiles.image(1), try SampleTiles.image(2))
    let found = try writeAndRead(
      [(world, images.0), (alps, images.1)], at: folder.file("sample.mbtiles"), longitude: 8, latitude: 46.5)
    #expect(found == images.1)
  }

  @Test func offlineMap() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle(
      "sample.mbtiles", zooms: 0...3, places: [Place(name: "Chur", longitude: 9.53, latitude: 46.85)])
    let shown = try await showMap(path, longitude: 8, latitude: 46.5, search: "chu")
    // Coarser tiles may come first where the machine is slow.
    #expect(shown.0.count(where: { $0.zoom == 3 }) == 6 && shown.1.map(\.name) == ["Chur"], "\(shown)")
  }

  /// The tutorial of OfflineMap.
  @Test func movingMap() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle("sample.mbtiles", zooms: 0...3)
    var drawn: Set<TileID> = []
    let bytes = try await showMovingMap(path, latitude: 46.5) { drawn.insert($0.tileID) }
    #expect(drawn.count(where: { $0.zoom == 3 }) >= 6, "\(drawn)")
    #expect(bytes.before > 0 && bytes.after <= bytes.before, "\(bytes)")
  }

  @Test func gazetteer() throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle(
      "sample.mbtiles", zooms: 0...1,
      places: [
        Place(name: "Churwalden", longitude: 9.53, latitude: 46.77),
        Place(name: "Chur", longitude: 9.53, latitude: 46.85),
        Place(name: "Bern", longitude: 7.45, latitude: 46.95),
      ])
    let found = try findPlaces(in: path, typed: "chu", longitude: 9.53, latitude: 46.76)
    #expect(found.count == 2 && found.allSatisfy { $0.hasPrefix("Chur") && $0.hasSuffix(" km") }, "\(found)")
  }

  @Test func regionCatalog() throws {
    let folder = try TemporaryFolder()
    try writeCatalogue(in: folder)
    let path = folder.file("catalogue.json")
    #expect(try filesToDownload(catalogue: path, longitude: 8, latitude: 46) == ["alps-1.mbtiles"])
    #expect(try filesToDownload(catalogue: path, longitude: -8, latitude: 46) == [])
  }

  @Test func tilePrefetch() throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle("sample.mbtiles", zooms: 0...3)
    let viewport = Viewport(x: 0.5, y: 0.5, zoom: 2, width: 512, height: 512)
    let drawn = try loadScreen(viewport, of: path)
    let bundle = try BundleFile.open(path)
    let expected = try viewport.tiles.filter { try bundle.tile($0) != nil }
    #expect(!expected.isEmpty && Set(drawn.keys) == Set(expected))
  }

  @Test func tileServe() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle("sample.mbtiles")
    let tile = try TileID(zoom: 2, column: 1, row: 3)
    let bytes = try await serve(folder: folder.path, tileset: "sample", tile: tile)
    #expect(try bytes == BundleFile.open(path).tile(tile))
  }

  @Test func purchaseVerification() async throws {
    let authority = try EphemeralCA()
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "1", originalTransactionID: "1", productID: Self.product,
      purchaseDate: 1_794_000_000_000, signedDate: 1_794_000_000_000, trust: .signed, statement: .purchased)
    let signed = String(decoding: try authority.transaction(fact, bundleID: "org.example"), as: UTF8.self)
    func products(root: [UInt8]) async throws -> [String] {
      try await productsPaid(by: signed, root: root, bundleID: "org.example", now: 1_794_000_001_000)
    }
    #expect(try await products(root: authority.rootCertificate) == [Self.product])
    let stranger = try EphemeralCA().rootCertificate
    await #expect { try await products(root: stranger) } throws: {
      ($0 as? VerificationError)?.code == .untrustedChain
    }
  }

  @Test func purchaseLedger() async throws {
    let folder = try TemporaryFolder()
    let owned = try await recordPurchase(
      Array(Self.purchase.utf8), context: Self.context,
      identity: StoreIdentity(packageName: Self.packageName, googlePublicKey: nil, environments: .all),
      ledgerPath: folder.file("ledger.sqlite"))
    #expect(owned == [Self.product])
  }

  /// Against a real server over loopback, whose ledger has a purchase of the account.
  @Test func mapStoreClient() async throws {
    let folder = try TemporaryFolder()
    try writeCatalogue(in: folder)
    let ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .system)
    defer { ledger.close() }
    let identity = StoreIdentity(packageName: Self.packageName, googlePublicKey: nil, environments: .all)
    var options = StoreOptions(catalogFolder: folder.path)
    options.port = 0
    let server = try await MapStoreServer.start(
      options, ledger: ledger, identity: identity, clock: .system,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    let credentials = Credentials(login: "anna@example.org", password: "a long password")
    let account = try await ledger.accounts.add(login: credentials.login, password: credentials.password)
    let submission = Submission(
      evidence: Array(Self.purchase.utf8), context: Self.context, account: account, channel: .operatorImport)
    let booking = try await ledger.book(submission, with: EvidenceVerifier(identity: identity))
    #expect(booking.outcome == .accepted)

    let installed = folder.file("installed")
    let paths = try await installOwnedRegions(from: server.url, credentials, into: installed)
    #expect(paths == ["\(installed)/alps.mbtiles"])
    let tile = try TileID(zoom: 0, column: 0, row: 0)
    #expect(try BundleFile.open(paths[0]).tile(tile) != nil)
    try await server.shutdown()
  }

  /// A catalogue of one region with a real bundle.
  private func writeCatalogue(in folder: TemporaryFolder) throws {
    try folder.writeBundle("alps-1.mbtiles")
    try folder.write("alps-1.png", bytes: SampleTiles.image(1))
    func member(_ name: String) throws -> String {
      let data = try folder.bytes(name)
      let hash = SHA256.hash(data: data).map { String(format: "%02x", $0) }.joined()
      return "\"file\":\"\(name)\",\"bytes\":\(data.count),\"sha256\":\"\(hash)\""
    }
    let region = """
      {"id":"alps","productId":"\(Self.product)","title":"The Alps","category":"park","bounds":[5,43,17,48],\
      "tileMatrixSet":"WebMercatorQuad","minzoom":0,"maxzoom":2,"format":"png",\(try member("alps-1.mbtiles")),\
      "tileCount":21,"tilesHash":"00","edition":"1","preview":{\(try member("alps-1.png"))},"priceTier":"tier-1",\
      "packs":[],"patches":[]}
      """
    try folder.write("catalogue.json", "{\"version\":1,\"regions\":[\n\(region)\n]}\n")
  }
}
