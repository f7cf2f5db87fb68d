import Foundation
import Logging
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import Support
import Synchronization
import TestSupport
import Testing
import TileIndex

@testable import MapStoreServer

/// The public catalogue.
@Suite(.ownThread) struct CatalogTests {
  private func page(_ store: TestStore, _ query: String) async throws -> CatalogPage {
    let answer = try await store.send("GET", "\(StoreRoute.catalogue.path)?\(query)")
    guard answer.status == 200 else { throw TestStore.Unexpected(answer) }
    return try WireJSON.decode(CatalogPage.self, from: answer.body)
  }

  @Test func searchFilterNearAndPages() async throws {
    try await TestStore.run { store in
      let all = try await page(store, "")
      #expect(all.regions.map(\.id) == TestCatalog.regions && all.total == 4 && all.nextCursor == nil)
      #expect(
        all.categories == [CategoryCount(category: "park", regions: 2), CategoryCount(category: "state", regions: 2)])
      #expect(try await page(store, "q=THE+rh").regions.map(\.id) == ["rhine"])
      #expect(try await page(store, "category=state").regions.map(\.id) == ["rockies", "retired"])
      #expect(try await page(store, "near=5,45").regions.map(\.id) == ["rhine", "rockies", "retired", "alps"])
      let first = try await page(store, "limit=3")
      #expect(first.regions.count == 3 && first.nextCursor == "rhine" && first.total == 4)
      #expect(try await page(store, "limit=3&cursor=rhine").regions.map(\.id) == ["retired"])
    }
  }

  /// Regions near a place, with their distance, whether the place is inside, and the packs that contain it; also with
  /// an outline, and across the antimeridian.
  @Test func regionsNearAPlaceHaveDistanceAndPacks() async throws {
    try await TestStore.run { store in
      let around = try await page(store, "near=-15,45").regions
      #expect(around.map(\.id).first == "rockies" && around.allSatisfy { $0.near != nil })
      #expect(
        around[0].near
          == FoundNear(
            distanceMetres: 0, isInside: true,
            packs: [FoundTilePack(file: "rockies-1-overview.mbtiles", bytes: 5000, isOverview: true)]))
      // Five degrees at this latitude.
      let away = try #require(around.first { $0.id == "rhine" }?.near)
      #expect((1_170_000...1_185_000).contains(away.distanceMetres) && !away.isInside && away.packs.isEmpty)
      #expect(try await page(store, "").regions.allSatisfy { $0.near == nil })
    }
  }

  @Test func distancesToOutlines() throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    var region = try #require(try catalog.catalogue().regions.first)
    region.bounds = [170, -10, -170, 10]
    region.boundary = try WireJSON.decode(
      RegionBoundary.self,
      from: Array(#"{"type":"Polygon","coordinates":[[[170,-10],[190,-10],[170,10],[170,-10]]]}"#.utf8))
    func metres(_ longitude: Double, _ latitude: Double) -> Double {
      RegionOutline(region).metres(from: .init(longitude: longitude, latitude: latitude))
    }
    #expect(metres(175, 0) == 0 && metres(-178, -9) == 0)
    // In the box, but outside the outline: the square root of two degrees away.
    #expect(abs(metres(-178, 0) - 2.0.squareRoot() * 111_195) < 2_000)
    #expect(abs(metres(169, 0) - 111_195) < 100 && abs(metres(180, -11) - 111_195) < 100)
    region.boundary = nil
    #expect(metres(-178, 9) == 0 && abs(metres(-169, 0) - 111_195) < 100)
  }

  /// The nearest edge is found among thousands by looking at a few, and is the nearest.
  @Test func nearestEdges() throws {
    let folder = try TemporaryFolder()
    var region = try #require(try TestCatalog(folder).catalogue().regions.first)
    var random = SeededGenerator(seed: 7)
    let count = 1_600
    // A jagged coast around an area in the Pacific, in two parts.
    let points = (0...count).map { index -> [Double] in
      let (angle, radius) = (
        Double(index % count) / Double(count) * 2 * .pi, Double.random(in: 2...2.4, using: &random)
      )
      return [177 + radius * cos(angle), 10 + radius * sin(angle)]
    }
    let island = [[-179.0, 10], [-178, 10], [-178, 11], [-179, 10]]
    region.boundary = try WireJSON.decode(
      RegionBoundary.self, from: Array(#"{"type":"MultiPolygon","coordinates":[[\#(points)],[\#(island)]]}"#.utf8))
    let outline = RegionOutline(region)
    let edges = try [points, island].flatMap { ring in
      try zip(ring, ring.dropFirst()).map { edge in
        var one = region
        one.boundary = try WireJSON.decode(
          RegionBoundary.self, from: Array(#"{"type":"Polygon","coordinates":[[\#(edge.0),\#(edge.1)]]}"#.utf8))
        return RegionOutline(one)
      }
    }
    var measured = 0
    for _ in 0..<20 {
      let place = RegionOutline.Place(
        longitude: .random(in: -180...180, using: &random), latitude: .random(in: -80...80, using: &random))
      let found = outline.metres(from: place, measured: &measured)
      #expect(found == 0 || found == edges.map { $0.metres(from: place) }.min())
      #expect(outline.metresToBox(from: place) <= found)
    }
    #expect(measured / 20 < count / 8)
  }

  /// The pages of what is near a place, one after the other, are all regions by their distance.
  @Test(arguments: [1, 2, 3, 100]) func pagesOfNearestRegions(_ limit: Int) throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder, corners: 50)
    let contents = try catalog.catalogue()
    let snapshot = CatalogSnapshot(
      contents, products: nil,
      places: PlaceDirectory(contents.regions, folder: catalog.path, logger: .init(label: "test")))
    for place in ["179,-45", "7,46", "-120,40"] {
      let all = try CatalogSearch(Query("near=\(place)")).page(of: snapshot)
      let distances = all.regions.compactMap(\.near?.distanceMetres)
      #expect(distances == distances.sorted() && distances.count == all.total)
      var (ids, cursor) = ([String](), String?.none)
      repeat {
        let query = "near=\(place)&limit=\(limit)" + (cursor.map { "&cursor=\($0)" } ?? "")
        let page = try CatalogSearch(Query(query)).page(of: snapshot)
        #expect(page.total == all.total && page.regions.count <= limit)
        ids += page.regions.map(\.id)
        cursor = page.nextCursor
      } while cursor != nil && ids.count <= all.total
      #expect(ids == all.regions.map(\.id))
    }
  }

  @Test(arguments: [
    "near=5", "near=200,0", "near=a,b", "near=nan,0", "limit=0", "limit=501", "limit=x", "cursor=none", "q=%ff", "q=%2",
    "limit=", "near=", "cursor=",
  ])
  func unreadableQuestions(_ query: String) async throws {
    try await TestStore.run { store in
      let answer = try await store.send("GET", "\(StoreRoute.catalogue.path)?\(query)")
      #expect(try answer.status == 400 && answer.problem().type == .badRequest, "\(answer)")
    }
  }

  /// Forms send empty fields too.
  @Test func emptyFormFieldsAreIgnored() async throws {
    try await TestStore.run { store in
      for (query, count) in [("q=&category=", 4), ("q=+", 4), ("q=%26", 0)] {
        let found = try await page(store, query)
        #expect(found.total == count, "\(query)")
      }
    }
  }

  /// The next page answers the same query.
  @Test func furtherPagesKeepTheQuery() async throws {
    try await TestStore.run { store in
      var target: String? = "/catalogue?q=The&near=5,45&limit=1"
      var seen: [String] = []
      while let page = target {
        let text = try await store.send("GET", page).text
        seen += text.matches(of: /data-region="([a-z]+)"/).map { String($0.1) }
        target = text.firstMatch(of: /class="more"><a href="([^"]+)"/).map {
          String($0.1).replacing("&amp;", with: "&")
        }
      }
      #expect(seen == ["rhine", "rockies", "retired", "alps"])
    }
  }

  @Test func tagsAndCompression() async throws {
    try await TestStore.run { store in
      let plain = try await store.send("GET", StoreRoute.catalogue.path)
      let tag = try #require(plain["ETag"])
      #expect(plain["Content-Encoding"] == nil && plain["Vary"] == "Accept-Encoding")
      let again = try await store.send("GET", StoreRoute.catalogue.path, ["If-None-Match": tag])
      #expect(again.status == 304 && again.body.isEmpty)
      let packed = try await store.send("GET", StoreRoute.catalogue.path, ["Accept-Encoding": "br, gzip"])
      #expect(packed["Content-Encoding"] == "gzip" && packed["ETag"] != tag && packed.body.starts(with: [0x1f, 0x8b]))
      #expect(packed.body.count < plain.body.count / 2)
      let folder = try TemporaryFolder()
      let run = try Command(path: "/usr/bin/gunzip").run(["-t", try folder.write("c.gz", bytes: packed.body)])
      #expect(run.status == 0, "\(run)")
      #expect(
        try await store.send("GET", StoreRoute.catalogue.path, ["Accept-Encoding": "gzip;q=0"])["Content-Encoding"]
          == nil)
      #expect(try await store.send("GET", "\(StoreRoute.catalogue.path)?q=alps")["ETag"] != tag)
    }
  }

  /// A town's name finds the regions whose bundles contain the place, ranked below those with the name in their texts;
  /// retired regions are not found by their places.
  @Test func placesFindTheirRegions() async throws {
    let ready = TestCatalog.regions.filter { $0 != "retired" }.map { "\(TestCatalog.product($0)),ready" }
    try await TestStore.run(products: ready.joined(separator: "\n")) { store in
      let basel = Place(name: "Basel", kind: "city", longitude: 7.6, latitude: 47.6, importance: 0.6)
      let folder = URL(fileURLWithPath: store.catalog.path).lastPathComponent
      func write(_ region: String, _ places: [Place]) throws {
        try store.folder.writeBundle("\(folder)/\(region)-1.mbtiles", zooms: 0...0, places: places)
      }
      try write("alps", [basel, Place(name: "Säntis", kind: "peak", longitude: 9.3, latitude: 47.2, importance: 0.4)])
      try write("rhine", [basel, Place(name: "Alpsee", longitude: 10.2, latitude: 47.5, importance: 0.3)])
      try write("retired", [basel])
      // The same contents in a new file: the server reads the catalogue again.
      try store.catalog.write(edition: "1", keepingBundles: true)
      var found = try await page(store, "q=basel")
      for _ in 0..<400 where found.total == 0 {
        try await Task.sleep(for: .milliseconds(50))
        found = try await page(store, "q=basel")
      }
      #expect(found.regions.map(\.id) == ["alps", "rhine"] && found.total == 2)
      #expect(
        found.regions[0].places == [FoundPlace(name: "Basel", kind: "city", longitude: 7.6, latitude: 47.6)])
      #expect(try await page(store, "q=santi").regions.map(\.id) == ["alps"])
      #expect(try await page(store, "q=alps").regions.map(\.id) == ["alps", "rhine"])
      #expect(try await page(store, "q=basel&category=state").total == 0)
      #expect(try await page(store, "q=basel&limit=1&cursor=alps").regions.map(\.id) == ["rhine"])
      #expect(try await page(store, "q=basel+nowhere").total == 0)
      for hostile in ["%22", "%22+OR+%22", "basel%22+AND", "*", "name:basel", "NEAR(", "-", "%00"] {
        #expect([200, 400].contains(try await store.send("GET", "\(StoreRoute.catalogue.path)?q=\(hostile)").status))
      }
      #expect(try await store.send("GET", "/catalogue?q=basel").text.contains("Has Basel (city)"))
    }
  }

  /// Devices install MBTiles: regions in other containers are not sold, and the others are.
  @Test func otherContainersAreNotSold() throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    let list = "\(catalog.path)/catalogue.json"
    let text = try String(contentsOfFile: list, encoding: .utf8)
    try text.replacingOccurrences(of: "alps-1.mbtiles", with: "alps-1.pmtiles")
      .write(toFile: list, atomically: true, encoding: .utf8)
    try FileManager.default.moveItem(
      atPath: "\(catalog.path)/alps-1.mbtiles", toPath: "\(catalog.path)/alps-1.pmtiles")
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let store = try StoreCatalog(folder: catalog.path, products: nil, logger: logger)
    #expect(store.snapshot.isForSale == [false, true, true, true])
    #expect(store.snapshot.hasBundles && store.faultTexts().isEmpty)
  }

  /// A bundle that was missing at the start is found by its places once it is present.
  @Test func placesComeWithTheirBundle() throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    let basel = Place(name: "Basel", kind: "city", longitude: 7.6, latitude: 47.6, importance: 0.6)
    let bundle = try folder.writeBundle("catalogue/alps-1.mbtiles", zooms: 0...0, places: [basel])
    try catalog.write(edition: "1", keepingBundles: true)
    #expect(rename(bundle, bundle + ".away") == 0)
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let store = try StoreCatalog(folder: catalog.path, products: nil, logger: logger)
    #expect(!store.snapshot.isForSale[0] && store.snapshot.places.regions(having: ["basel"]).isEmpty)
    #expect(rename(bundle + ".away", bundle) == 0)
    store.refresh()
    #expect(store.snapshot.isForSale[0] && store.snapshot.places.regions(having: ["basel"]).keys.elementsEqual([0]))
  }

  /// Words in any order, some in the region's own texts and the rest in the name of one of its places; beginnings of
  /// words rank above their middles.
  @Test(arguments: [
    ("longs", ["rockies", "alps"]), ("estes park rockies", ["rockies"]), ("Rockies, Estes-Park!", ["rockies"]),
    ("peak longs", ["rockies"]), ("est par", ["rockies"]), ("longs estes", []), ("säntis alps", ["alps"]),
    ("peak", ["alps", "rockies"]), ("rock", ["rockies", "rhine"]), ("l p", ["rockies", "alps"]),
    ("longs peak longs peak longs peak long p", ["rockies"]), ("longs peak longs peak longs peak longs x", []),
  ])
  func wordsAreFoundInAnyOrder(question: String, expected: [String]) async throws {
    try await TestStore.run { store in
      let folder = URL(fileURLWithPath: store.catalog.path).lastPathComponent
      func write(_ region: String, _ places: [(name: String, importance: Double)]) throws {
        try store.folder.writeBundle(
          "\(folder)/\(region)-1.mbtiles", zooms: 0...0,
          places: places.map { Place(name: $0.name, longitude: 0, latitude: 45, importance: $0.importance) })
      }
      try write("rockies", [("Longs Peak", 0.4), ("Estes Park", 0.3)])
      // More important, but later in the name.
      try write("alps", [("Hotel Longs", 0.9), ("Säntis", 0.5), ("Peak of the Alps", 0.2)])
      try write("rhine", [("Bedrock", 0.9), ("Big Rock", 0.1)])
      try store.catalog.write(edition: "1", keepingBundles: true)
      let isRead = try await onThread {
        try eventually(seconds: 30) {
          try TestStore.request(port: store.server.port, "GET", "\(StoreRoute.catalogue.path)?q=bedrock").text.contains(
            "rhine")
        }
      }
      #expect(isRead)
      #expect(try await page(store, "q=\(PercentEncoding.encode(question))").regions.map(\.id) == expected)
    }
  }

  /// Libraries are compressed, have entity tags, and change with the owned regions.
  @Test func librariesAreTagged() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let bert = try store.person()
      func library(_ person: TestStore.Person, _ fields: [String: String] = [:]) async throws -> HTTPResponse {
        try await store.send("GET", StoreRoute.library.path, token: person.token, fields)
      }
      let plain = try await library(anna)
      let tag = try #require(plain["ETag"])
      #expect(plain["Cache-Control"] == "private, no-cache")
      #expect(try await library(anna, ["If-None-Match": tag]).status == 304)
      #expect(try await library(bert)["ETag"] == tag)
      let packed = try await library(anna, ["Accept-Encoding": "gzip"])
      #expect(packed["Content-Encoding"] == "gzip" && packed.body.count < plain.body.count)
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let changed = try await library(anna, ["If-None-Match": tag])
      #expect(changed.status == 200 && changed["ETag"] != tag && changed.text.contains("ownedNotInstalled"))
      #expect(try await library(bert, ["If-None-Match": tag]).status == 304)
    }
  }

  @Test func regionPreviewAndPacks() async throws {
    try await TestStore.run { store in
      let answer = try await store.send("GET", "/v1/regions/alps")
      let details = try WireJSON.decode(RegionDetails.self, from: answer.body)
      #expect(try details.isForSale && details.region == store.catalog.catalogue()["alps"])
      let listing = try #require(try await page(store, "q=alps").regions.first)
      let preview = try await store.send("GET", try #require(listing.preview))
      #expect(try preview["Content-Type"] == "image/png" && preview.body == store.catalog.bytes("alps-1.png"))
      for (query, count) in [("", 1), ("?point=-35,45", 1), ("?bounds=-41,39,-30,51", 1)] {
        let packs = try WireJSON.decode(
          TilePackList.self, from: try await store.send("GET", "/v1/regions/alps/packs\(query)").body)
        #expect(packs.packs.count == count && packs.bytes == 5000)
      }
      for query in [
        "point=1", "point=1e300,1e300", "point=0,91", "point=181,0", "bounds=1e300,0,0,0", "bounds=1,2,3",
        "bounds=1,2,x,4", "bounds=", "point=", "bounds=0,100,1,200", "bounds=0,5,1,4",
        "bounds=-41,39,-30,51&point=-35,45",
      ] {
        #expect(try await store.send("GET", "/v1/regions/alps/packs?\(query)").status == 400, "\(query)")
      }
      #expect(try await store.send("GET", "/v1/regions/none").status == 404)
    }
  }

  /// Answers from prepared texts equal the encoded message.
  @Test func libraryTextIsTheMessage() async throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    let catalogue = try catalog.catalogue()
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let view = CatalogSnapshot(
      catalogue, products: nil, places: PlaceDirectory(catalogue.regions, folder: catalog.path, logger: logger))
    let entries = [
      LibraryEntry(region: 0, status: .forSale), LibraryEntry(region: 2, status: .revoked),
      LibraryEntry(region: 1, status: .updateAvailable, installedEdition: "\"0\\", patchBytes: 5),
    ]
    let message = Library(
      regions: entries.map { entry in
        let region = view.regions[entry.region]
        return LibraryRegion(
          id: region.id, productId: region.productId, title: region.title, status: entry.status, isForSale: true,
          edition: region.edition, bytes: region.bytes, installedEdition: entry.installedEdition,
          patchBytes: entry.patchBytes)
      })
    #expect(try view.libraryWriter.document(entries) == WireJSON.encode(message))
    #expect(try LibraryEntry.installed("a%40b@1%2E2,c@3") == ["a@b": "1.2", "c": "3"])
  }

  @Test func grantsAreSigned() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post(
        [try store.evidence("alps", for: anna), try store.evidence("rhine", for: anna)], as: anna)
      let signed = try GrantChecks.signed(try await store.send("GET", StoreRoute.grants.path, token: anna.token))
      let keys = try WireJSON.decode(
        GrantKeys.self, from: try await store.send("GET", StoreRoute.grantKeys.path).body)
      #expect(try GrantChecks.isSigned(signed, by: keys))
      var altered = signed
      // One region gets another's name.
      let forged = String(decoding: GrantChecks.bytes(signed.payload), as: UTF8.self).replacing("rhine", with: "rhone")
      altered.payload = Data(forged.utf8).base64EncodedString()
      #expect(try !GrantChecks.isSigned(altered, by: keys))
      let document = try WireJSON.decode(GrantDocument.self, from: GrantChecks.bytes(signed.payload))
      #expect(document.grants.map(\.regionId) == ["alps", "rhine"] && document.accountId == anna.session.account.id)
      #expect(document.issuedAt == TestStore.now && document.expiresAt == TestStore.now + 30 * 86_400_000)
    }
  }

  /// What ends is granted until then; what a device reports to have is noted once.
  @Test func grantsStateTheirEndAndInstallsAreNoted() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let account = try #require(AccountID(anna.session.account.id))
      let until = TestStore.now + 86_400_000
      _ = try store.server.service.ledger.grant(
        TestCatalog.product("alps"), to: account, until: until, ActReason("a gift", by: "carol"))
      let signed = try GrantChecks.signed(try await store.send("GET", StoreRoute.grants.path, token: anna.token))
      let document = try WireJSON.decode(GrantDocument.self, from: GrantChecks.bytes(signed.payload))
      #expect(document.grants.map(\.until) == [until])
      func noted() throws -> Int {
        var text = ""
        try store.server.service.ledger.export(.jsonLines) { text += $0 }
        return text.split(separator: "\n").count {
          $0.contains("\"kind\":\"installed\"") && $0.contains(TestCatalog.product("alps"))
        }
      }
      for query in ["", "?installed=alps@1", "?installed=alps@1", "?installed=rhine@1"] {
        _ = try await store.send("GET", StoreRoute.library.path + query, token: anna.token)
      }
      #expect(try noted() == 1)
    }
  }

  /// A file that was named by mistake may be valuable: no remedy overwrites it.
  @Test func remediesForKeysOverwriteNoFile() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("ledger.key", "not a key")
    for load in [{ _ = try HMACKeys(files: [path]) }, { _ = try GrantSigner(files: [path]) }] {
      #expect { try load() } throws: { error in
        let remedy = (error as? StoreError)?.remedy ?? ""
        return remedy.contains("openssl") && remedy.contains("new name") && !remedy.contains(path)
      }
    }
  }

  /// During shutdown `/ready` is 503, so that proxies send no new requests.
  @Test func notReadyDuringShutdown() async throws {
    try await TestStore.run { store in
      store.server.service.isEnding.withLock { $0 = true }
      let answer = try await store.send("GET", "/ready")
      #expect(try answer.status == 503 && answer.problem().type == .unavailable)
      #expect(try await store.send("GET", "/health").status == 200)
    }
  }

  @Test func pagesAndFigures() async throws {
    try await TestStore.run { store in
      for path in ["/", "/catalogue", "/catalogue?q=alps&category=park"] {
        let page = try await store.send("GET", path)
        #expect(page.status == 200 && page["Content-Type"] == "text/html; charset=utf-8")
        #expect(
          page.text.contains("The Alps") && page["Content-Security-Policy"]?.contains("default-src 'none'") == true)
      }
      // Wherever a map is offered its sources are named.
      let offered = try await store.send("GET", "/catalogue").text
      for region in TestCatalog.regions {
        #expect(offered.contains("Survey of \(region) &amp; others<"), "\(region)")
      }
      let hostile = try await store.send("GET", "/catalogue?q=%3Cscript%3E%22")
      #expect(!hostile.text.contains("<script>\"") && hostile.text.contains("&lt;script&gt;&quot;"))
      #expect(try await store.send("GET", "/ready").text == "ready\n")
      let figures = try await store.send("GET", "/metrics").text
      #expect(figures.contains("mapstore_requests_total{route=\"GET /catalogue\",status=\"200\"} 4"), "\(figures)")
    }
  }
}
