import TestSupport
import Testing

@testable import TileServe

/// CORS (Fetch standard).
@Suite(.ownThread) struct CrossOriginTests {
  private let origin = ["Origin": "https://app.example"]
  private let targets = ["/relief/0/0/0.png", "/relief/2/3/3.png", "/relief.json", "/relief/9/x/0.png", "/health"]

  @Test func anyOriginByDefault() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in targets {
        let response = try served.get(target, origin)
        #expect(response["Access-Control-Allow-Origin"] == "*" && response["Vary"] == nil, "\(target): \(response)")
        #expect(response["Access-Control-Expose-Headers"] == "ETag")
      }
      // For the operator: with reasons that name files.
      for target in ["/metrics", "/tilesets.json", "/"] {
        #expect(try served.get(target, origin)["Access-Control-Allow-Origin"] == nil, "\(target)")
      }
      let tag = try #require(try served.get(targets[0])["ETag"])
      let fresh = try served.get(targets[0], ["If-None-Match": tag])
      #expect(fresh.status == 304 && fresh["Access-Control-Allow-Origin"] == "*")
    }
  }

  @Test func noCrossOriginFieldsWhenOff() async throws {
    try await serving([SampleTilesets.path]) {
      $0.crossOrigin = .off
    } _: { (served) async throws in
      for target in targets {
        #expect(try !served.get(target, origin).fields.contains { $0.name.hasPrefix("Access-Control") }, "\(target)")
      }
      let preflight = try served.get("/relief.json", method: "OPTIONS", asking)
      #expect(preflight.status == 204 && !preflight.fields.contains { $0.name.hasPrefix("Access-Control") })
    }
  }

  @Test func onlyThoseListed() async throws {
    try await serving([SampleTilesets.path]) {
      $0.crossOrigin = .origins(["https://app.example", "http://localhost:3000"])
    } _: { (served) async throws in
      for target in targets {
        for listed in ["https://app.example", "http://localhost:3000"] {
          let response = try served.get(target, ["Origin": listed])
          #expect(response["Access-Control-Allow-Origin"] == listed && response["Vary"] == "Origin")
        }
        for other in ["https://evil.example", "https://app.example.evil.example", "null", "*", "", nil] {
          let response = try served.get(target, other.map { ["Origin": $0] } ?? [:])
          #expect(response["Access-Control-Allow-Origin"] == nil && response["Vary"] == "Origin", "\(other ?? "-")")
        }
      }
      #expect(try served.get("/metrics", origin)["Access-Control-Allow-Origin"] == "https://app.example")
      // Vary names both fields.
      #expect(try served.get("/roads/0/0/0.pbf", origin)["Vary"] == "Accept-Encoding, Origin")
      #expect(
        try served.get("/health", method: "OPTIONS", asking)["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS")
      let refused = try served.get(
        "/health", method: "OPTIONS", ["Origin": "https://evil.example", "Access-Control-Request-Method": "GET"])
      #expect(refused["Access-Control-Allow-Methods"] == nil && refused["Access-Control-Allow-Origin"] == nil)
    }
  }

  private var asking: [String: String] {
    origin.merging([
      "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "if-none-match, range",
    ]) { $1 }
  }

  @Test func preflight() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let response = try served.get("/relief/0/0/0.png", method: "OPTIONS", asking)
      #expect(response.status == 204 && response.body.isEmpty)
      #expect(response["Access-Control-Allow-Origin"] == "*")
      #expect(response["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS")
      let allowed = Set((response["Access-Control-Allow-Headers"] ?? "").lowercased().split(separator: ", "))
      #expect(allowed.isSuperset(of: ["if-none-match", "range", "if-modified-since", "*"]))
      #expect(response["Access-Control-Max-Age"].flatMap { Int($0) } ?? 0 > 0)
      #expect(response["Access-Control-Allow-Private-Network"] == nil)
      let near = try served.get(
        "/health", method: "OPTIONS", asking.merging(["Access-Control-Request-Private-Network": "true"]) { $1 })
      #expect(near["Access-Control-Allow-Private-Network"] == "true")
    }
  }
}
