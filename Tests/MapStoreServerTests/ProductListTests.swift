import Foundation
import Logging
import MapStoreWire
import PurchaseLedger
import Support
import TestSupport
import Testing

@testable import MapStoreServer

/// The operator's list of products, and the service while it cannot be used.
@Suite(.ownThread) struct ProductListTests {
  @Test(arguments: [
    ("a,ready\nb , APPROVED \r\n\n# c,ready\nd,removed", ["a", "b"]),
    (#"[{"productId":"a","state":"READY_FOR_SALE"},{"productId":"d","state":"DEVELOPER_REMOVED_FROM_SALE"}]"#, ["a"]),
    (#" {"a":"active","d":"inactive"}"#, ["a"]),
    // As written by spreadsheets and the stores' exports.
    ("\u{feff}product id,state\r\na,ready\r\n", ["a"]), ("\u{feff}[{\"productId\":\"a\",\"state\":\"ready\"}]", ["a"]),
    (#""a","ready""# + "\n" + #" "b" , "Ready for Sale" "# + "\nd,removed", ["a", "b"]),
    ("d,Missing Metadata\na,active", ["a"]),
  ])
  func productFiles(_ text: String, _ ready: [String]) throws {
    let states = try ProductList(Array(text.utf8), path: "products")
    #expect(["a", "b", "c", "d"].filter(states.isReady) == ready)
  }

  @Test(arguments: [
    ("a", "line 1 is not"), ("a,ready\n\na,b,c", "line 3 is not"), (",ready", "line 1 is not"), ("a,", "line 1 is not"),
    ("[1]", ""), ("{\"a\":1}", ""), ("[", ""), ("{", ""),
    // Nothing would be for sale.
    ("", "names no product"), ("\n# none\n", "names no product"), ("product id,state\n", "names no product"),
    ("[]", "names no product"), ("{}", "names no product"),
    ("a,ready\nb,redy", "line 2: \"redy\" is no state"), (#"{"a":"redy"}"#, "a: \"redy\" is no state"),
    (#""a,ready"#, "line 1 has quotation marks"), (#""a"b,ready"#, "line 1 has quotation marks"),
  ])
  func unreadableProductFiles(_ text: String, _ why: String) {
    #expect {
      try ProductList(Array(text.utf8), path: "products")
    } throws: { error in
      let text = "\(error)"
      return error is StoreError && text.hasPrefix("products: \(why)") && text.contains(";")
    }
  }

  @Test func prices() throws {
    let list = try ProductList(
      Array(
        """
        {"taxNote": "incl. VAT", "products": [
          {"productId": "a", "price": 4.9, "currency": "EUR", "countries": {
            "JP": {"price": "500", "currency": "JPY"}, "KW": {"price": "1.5", "currency": "KWD", "taxNote": "-"}}},
          {"productId": "b", "state": "removed"}
        ]}
        """.utf8), path: "p")
    let price = try #require(list["a"]?.price)
    #expect(price == ListedPrice(amount: "4.90", currency: "EUR", taxNote: "incl. VAT"))
    #expect(list["a"]?.price(in: "JP")?.amount == "500" && list["a"]?.price(in: "KW")?.amount == "1.500")
    #expect(list["a"]?.price(in: "FR") == price && list.isReady("a") && !list.isReady("b"))
    let lines = try ProductList(Array("a,ready,4.9,USD\nb,ready,,\nc,ready,7,JPY,incl. tax".utf8), path: "p")
    #expect(
      lines["a"]?.price?.amount == "4.90" && lines["b"]?.price == nil && lines["c"]?.price?.taxNote == "incl. tax")
  }

  @Test(arguments: [
    (#"{"productId": "a", "price": "4.99", "currency": "EURO"}"#, "line 3: products[1]: \"EURO\" is not a currency"),
    (
      #"{"productId": "a", "price": "4.999", "currency": "EUR"}"#,
      "line 3: products[1]: \"4.999\" has 3 decimals, and EUR has 2"
    ),
    (
      #"{"productId": "a", "price": "4.5", "currency": "JPY"}"#,
      "line 3: products[1]: \"4.5\" has 1 decimals, and JPY has 0"
    ),
    (#"{"productId": "a", "price": "-1", "currency": "EUR"}"#, "line 3: products[1]: \"-1\" is not a price"),
    (#"{"productId": "a", "price": "4.99"}"#, "line 3: products[1] has a price and no currency"),
    (#"{"productId": "a", "prize": "4.99"}"#, "line 3: products[1] has a member \"prize\"; did you mean \"price\"?"),
    (
      #"{"productId": "a", "countries": {"che": {"price": "1", "currency": "CHF"}}}"#,
      "line 3: products[1].countries: \"che\" is no country"
    ),
    (#"{"productId": "b"}"#, "line 3: products[1]: b is there twice"),
    (#"{"price": "1"}"#, "products[1] has no productId"),
    (#"{"productId": "a", "state": "redy"}"#, "line 3: products[1]: \"redy\" is no state"),
  ])
  func unusablePrices(_ entry: String, _ why: String) {
    #expect {
      try ProductList(Array("{\"products\": [\n{\"productId\": \"b\"},\n\(entry)\n]}".utf8), path: "p.json")
    } throws: { error in "\(error)".hasPrefix("p.json: \(why)") && "\(error)".contains(";") }
  }

  /// Names that the catalogue does not have, and circles. The catalogue that is for sale stays as it is.
  @Test(arguments: [
    (
      #"{"productId": "org.example.maps.alpes", "price": "1", "currency": "EUR"}"#,
      "line 2: products[0]: org.example.maps.alpes has a price, and no region of the catalogue is sold as it; "
        + "correct the id (did you mean org.example.maps.alps?)"
    ),
    (#"{"productId": "all", "regions": ["alps", "andes"]}"#, "line 2: products[0]: all opens the region \"andes\""),
    (#"{"productId": "all", "products": ["some"]}"#, "line 2: products[0]: all contains the product \"some\""),
    (
      #"{"productId": "a", "products": ["b"]}, {"productId": "b", "products": ["c"]},"#
        + #"{"productId": "c", "products": ["b"]}"#,
      "line 2: products[1]: the bundle b contains itself: b, c, b"
    ),
    (#"{"productId": "a", "products": ["a"]}"#, "line 2: products[0]: the bundle a contains itself: a, a"),
  ])
  func listsThatTheCatalogueContradicts(_ entries: String, _ why: String) throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    let path = try folder.write("products.json", "{\"products\": [\n\(entries)\n]}")
    #expect {
      try StoreCatalog(folder: catalog.path, products: path, logger: Logger(label: "test"))
    } throws: { "\($0)".hasPrefix("\(path): \(why)") }
    // While it runs, the last usable list counts.
    _ = try folder.write("products.json", "{\"products\": [{\"productId\": \"\(TestCatalog.product("alps"))\"}]}")
    let store = try StoreCatalog(
      folder: catalog.path, products: path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    _ = try folder.write("products.json", "{\"products\": [\n\(entries)\n]}")
    store.refresh()
    #expect(store.failure?.contains(why) == true && store.snapshot.isForSale == [true, false, false, false])
  }

  /// A bundle opens its regions and those of its products; its refund closes them. A sample is everybody's.
  @Test func bundlesAndSamples() async throws {
    let bundle = "org.example.maps.bundle"
    let list = """
      {"samples": ["retired"], "products": [
        {"productId": "\(TestCatalog.product("rhine"))"},
        {"productId": "\(bundle)", "regions": ["alps"], "products": ["\(TestCatalog.product("rhine"))"]}
      ]}
      """
    try await TestStore.run(products: list) { store in
      #expect(store.server.service.catalog.snapshot.isForSale == [true, false, true, true])
      let (anna, bert) = (try store.person(), try store.person())
      let evidence = try store.evidence("alps", for: anna, id: "77") { $0.productID = bundle }
      #expect(try await store.post([evidence], as: anna).first?.outcome == .booked)
      func owned(_ person: TestStore.Person) async throws -> [String] {
        try await store.library(of: person).filter { $0.value.status == .ownedNotInstalled }.map(\.key).sorted()
      }
      #expect(try await owned(anna) == ["alps", "retired", "rhine"])
      #expect(try await owned(bert) == ["retired"])
      for region in ["alps", "rhine", "retired"] {
        let ticket = try await store.ticket(region, as: anna)
        let answer = try await store.send("GET", ticket.url)
        #expect(answer.status == 200 && answer.body.count == ticket.bytes)
      }
      #expect(try await store.ticket("retired", as: bert).regionId == "retired")
      await #expect(throws: TestStore.Unexpected.self) { try await store.ticket("alps", as: bert) }
      let grants = try await store.send("GET", "/v1/grants", token: anna.token)
      let payload = try WireJSON.decode(SignedGrants.self, from: grants.body).payload
      let document = String(decoding: try #require(Base64.decode(Array(payload.utf8))), as: UTF8.self)
      for region in ["alps", "rhine", "retired"] {
        #expect(document.contains("\"regionId\":\"\(region)\""), "\(region)")
      }
      // A refund takes all that it opened, and no more.
      let refund = try store.evidence("alps", for: anna, id: "77") {
        $0.productID = bundle
        ($0.revocation, $0.statement) = (Revocation(date: TestStore.now - 1000, reason: "0"), .revoked)
        $0.signedDate = TestStore.now - 500
      }
      _ = try await store.post([refund], as: anna)
      #expect(try await owned(anna) == ["retired"])
    }
  }

  @Test func quotedCells() {
    func cells(_ text: String) -> [String]? { CSVLine.cells(Array(text.utf8)) }
    #expect(cells(#" a , "b, ""c""" ,"#) == ["a", #"b, "c""#, ""])
    #expect(cells("") == [""] && cells(#""""#) == [""] && cells(#"" a ""#) == [" a "])
    for text in [#"a"b""#, #""a" b"#, #"""#, #""a"""#] { #expect(cells(text) == nil, "\(text)") }
  }

  /// Too large: the error names the file and the limit.
  @Test func aFileBeyondTheLimit() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("products.csv", "a,ready")
    try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: (64 << 20) + 1)
    #expect {
      try ProductList(path: path)
    } throws: {
      "\($0)".hasPrefix("\(path): has 67108865 bytes, and at most 67108864 are read")
    }
  }

  /// A file that cannot be read is tried again each time, even if its stamp does not change. The error is logged once.
  @Test func unreadableFilesAreRetriedAndLoggedOnce() throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    let product = TestCatalog.product("alps")
    let path = try folder.write("products.csv", "\(product),ready")
    let errors = Locked<[String]>([])
    let logger = Logger(label: "test") { _ in ErrorLog(errors: errors) }
    let store = try StoreCatalog(folder: catalog.path, products: path, logger: logger)
    #expect(store.snapshot.isForSale == [true, false, false, false])
    let then = Date(timeIntervalSince1970: 1_700_000_000)
    // The same file of the same size and time each time, as after a change of permissions.
    func overwrite(_ text: String) throws {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.write(contentsOf: Data(text.utf8))
      try handle.close()
      try FileManager.default.setAttributes([.modificationDate: then], ofItemAtPath: path)
    }
    try overwrite("\(product),redyy")
    for _ in 0..<3 { store.refresh() }
    #expect(store.failure != nil && store.snapshot.isForSale == [true, false, false, false])
    #expect(errors.withLock { $0.count } == 1)
    try overwrite("\(product),draft")
    store.refresh()
    #expect(store.failure == nil && store.snapshot.isForSale == [false, false, false, false])
  }

  private struct ErrorLog: LogHandler {
    let errors: Locked<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    init(errors: Locked<[String]>) { self.errors = errors }

    func log(event: LogEvent) { errors.withLock { $0.append("\(event.message)") } }
  }
}
