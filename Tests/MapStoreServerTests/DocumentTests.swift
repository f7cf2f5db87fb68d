import Foundation
import MapStoreWire
import TestSupport
import Testing

@testable import MapStoreServer

/// docs/reference/openapi.yaml and docs/reference/store.md match the server.
@Suite(.ownThread) struct DocumentTests {
  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: ProjectFiles.path("docs/reference/\(name)"), encoding: .utf8)
  }

  /// `METHOD path` for each operation of the document.
  private func operations() throws -> [String] {
    var path = ""
    var operations: [String] = []
    for line in try text("openapi.yaml").split(separator: "\n") {
      if let match = line.wholeMatch(of: /\ {2}(\/\S*):/) { path = String(match.1) }
      if let match = line.wholeMatch(of: /\ {4}(get|post|put|delete):/) {
        operations.append("\(match.1.uppercased()) \(path)")
      }
      if line == "components:" { break }
    }
    return operations
  }

  @Test func everyRouteIsInTheDocumentAndNoOther() throws {
    #expect(try operations().sorted() == StoreRoute.all.map { "\($0.method.rawValue) \($0.path)" }.sorted())
  }

  @Test(arguments: StoreRoute.all) func everyRouteIsInTheTable(_ route: StoreRoute) throws {
    #expect(try text("store.md").contains("`\(route.method.rawValue) \(route.path)`"))
  }

  /// The running server has each operation of the document: an empty request gets any answer except that path or method
  /// are unknown.
  @Test func serverAnswersEveryOperation() async throws {
    let operations = try operations()
    try await TestStore.run { store in
      #expect(operations.count == StoreRoute.all.count)
      for operation in operations {
        let words = operation.split(separator: " ").map(String.init)
        let path = words[1].replacing("{id}", with: "alps").replacing("{file}", with: "x").replacing(
          "{name}", with: "store.js"
        ).replacing("{zoom}/{column}/{row}", with: "0/0/0")
        let answer = try await store.send(words[0], path)
        #expect(![404, 405, 500].contains(answer.status), "\(operation) \(answer)")
        let other = try await store.send("PATCH", path)
        #expect(other.status == 405 && other["Allow"]?.contains(words[0]) == true, "\(operation) \(other)")
        if words[0] == "GET" {
          let head = try await store.send("HEAD", path)
          #expect(head.status == answer.status, "\(operation) \(head)")
        }
      }
      for path in [
        "/nothing", "/v1", "/v1/regions/", "/v1/regions/a%zz", "/v1/files/..%2f..%2fetc%2fpasswd", "//",
        "/assets/..%2fstore.js",
      ] {
        let answer = try await store.send("GET", path)
        #expect(
          [403, 404].contains(answer.status) && answer["Content-Type"] == Problem.contentType, "\(path) \(answer)")
      }
    }
  }
}
