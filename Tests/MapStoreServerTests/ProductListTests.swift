import Foundation
import Logging
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
    let states = try ProductStates(Array(text.utf8), path: "products")
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
      try ProductStates(Array(text.utf8), path: "products")
    } throws: { error in
      let text = "\(error)"
      return error is StoreError && text.hasPrefix("products: \(why)") && text.contains(";")
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
      try ProductStates(path: path)
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
