import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Lists, descriptions and metrics.
@Suite(.ownThread) struct DocumentConversationTests {
  private func object(_ response: HTTPResponse) throws -> [String: Any] {
    #expect(response.status == 200 && response["Content-Type"] == "application/json", "\(response)")
    return try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
  }

  @Test func tilesetsAreListed() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let list = try object(served.get("/tilesets.json"))
      let tilesets = try #require(list["tilesets"] as? [[String: Any]])
      #expect(tilesets.compactMap { $0["id"] as? String } == ["air", "degrees", "labels", "photo", "relief", "roads"])
      #expect((list["unavailable"] as? [Any])?.isEmpty == true)
      for tileset in tilesets {
        let url = try #require(tileset["tilejson"] as? String).replacing("http://localhost", with: "")
        let document = try object(served.get(url))
        #expect(document["tilejson"] as? String == "3.0.0")
        #expect(document["minzoom"] as? Int == tileset["minzoom"] as? Int)
        let template = try #require((document["tiles"] as? [String])?.first).replacing("http://localhost", with: "")
        let tile = template.replacing("{z}", with: "0").replacing("{x}", with: "0").replacing("{y}", with: "0")
        #expect(try served.get(tile).status == 200, "\(tile)")
      }
    }
  }

  @Test func documentsAreRevalidatedByEntityTag() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in ["/tilesets.json", "/relief.json", "/", "/relief/", "/wmts", "/tms/1.0.0", "/_assets/style.css"] {
        let first = try served.get(target)
        #expect(first.status == 200 && first["Cache-Control"] == "no-cache", "\(target): \(first)")
        let again = try served.get(target, ["If-None-Match": try #require(first["ETag"])])
        #expect(again.status == 304 && again.body.isEmpty && again["ETag"] == first["ETag"], "\(target)")
      }
      let page = try served.get("/relief/")
      #expect(page["Content-Security-Policy"]?.contains("default-src") == true)
    }
  }

  @Test func healthAndReadiness() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for (target, text) in [("/health", "ok\n"), ("/ready", "ready\n")] {
        let response = try served.get(target)
        #expect(response.status == 200 && response.text == text)
      }
    }
  }

  @Test func metricsHaveThePrometheusFormat() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in [
        "/relief/0/0/0.png", "/relief/0/0/0.png", "/relief/2/3/3.png", "/relief/0/0/x.png", "/relief.json",
      ] {
        _ = try served.get(target)
      }
      _ = try served.get("/relief/0/0/0@2x.png")
      let response = try served.get("/metrics")
      #expect(response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      let samples = try PrometheusText(response.text).samples
      #expect(samples["tileserve_requests_total{route=\"tile\",status=\"200\"}"] == 3)
      #expect(samples["tileserve_requests_total{route=\"tile\",status=\"404\"}"] == 1)
      #expect(samples["tileserve_requests_total{route=\"tilejson\",status=\"200\"}"] == 1)
      #expect(samples.filter { $0.key.hasPrefix("tileserve_requests_total") }.values.reduce(0, +) == 6)
      #expect(samples["tileserve_request_duration_seconds_count"] == 6)
      #expect(samples["tileserve_request_duration_seconds_bucket{le=\"+Inf\"}"] == 6)
      #expect(samples["tileserve_open_bundles"] == 1 && samples["tileserve_tilesets"] == 6)
      // One was requested; on a busy machine more are prefetched.
      #expect((samples["tileserve_cache_entries"] ?? 0) >= 1 && (samples["tileserve_cache_misses_total"] ?? 0) >= 1)
      #expect((samples["tileserve_response_body_bytes_total"] ?? 0) > 1000)
      #if os(Linux)
        #expect((samples["process_resident_anonymous_bytes"] ?? 0) > 1_000_000)
      #endif
    }
  }

  @Test func wmtsByKVPAndREST() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let direct = try served.get("/relief/1/1/0.png").body
      let query = "/wmts?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=relief&STYLE=default&FORMAT=image/png"
      let place = "&TileMatrixSet=WebMercatorQuad&TILEMATRIX=1&TILEROW=0&TILECOL=1"
      for target in [
        query + place, (query + place).replacing("FORMAT=image/png", with: "Format=image%2Fpng"),
        query + place.replacing("=1&TILEROW", with: "=WebMercatorQuad:1&TILEROW"),
        "/relief/wmts" + (query + place).dropFirst(5),
        "/wmts/1.0.0/relief/default/WebMercatorQuad/1/0/1.png",
        "/wmts/1.0.0/relief/default/WebMercatorQuad-0-2/1/0/1.png",
        "/wmts/1.0.0/relief/default/GoogleMapsCompatible/1/0/1.png",
        (query + place).replacing("WebMercatorQuad", with: "EPSG:3857"),
        (query + place).replacing("WebMercatorQuad", with: "urn:ogc:def:tilematrixset:OGC:1.0:WebMercatorQuad"),
        (query + place).replacing("WebMercatorQuad", with: "urn:ogc:def:wkss:OGC:1.0:GoogleMapsCompatible"),
        (query + place).replacing(
          "WebMercatorQuad", with: "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad"),
        (query + place).replacing("WebMercatorQuad", with: "urn:ogc:def:crs:EPSG::3857"),
        (query + place).replacing("/wmts?", with: "/wmts/?"), "/relief/wmts/" + (query + place).dropFirst(5),
      ] {
        let response = try served.get(target)
        #expect(response.status == 200 && response.body == direct, "\(target): \(response.statusLine)")
      }
      for target in [
        "/wmts", "/wmts/", "/wmts?service=WMTS&request=GetCapabilities", "/wmts/?service=WMTS&request=GetCapabilities",
        "/relief/WMTSCapabilities.xml",
      ] {
        let response = try served.get(target)
        #expect(response.status == 200 && response["Content-Type"] == "text/xml; charset=utf-8")
        let tree = try XMLTree.parsed(response.body)
        #expect(tree.name.hasSuffix("Capabilities"))
      }
    }
  }

  /// WMTS does not serve what it cannot describe; the plain URLs do.
  @Test func tilesetsThatAreNotWMTSLayers() async throws {
    let folder = try TemporaryFolder()
    for (name, size) in [("scan", "512,512"), ("plan", "512,300")] {
      try folder.writeBundle(
        "\(name).mbtiles", zooms: 0...1, metadata: BundleMetadata(name: name, extra: ["flat_image": size]))
    }
    try await serving([SampleTilesets.path, folder.path]) { (served) async throws in
      let all = try served.get("/wmts").text
      #expect(all.contains(">relief<") && !all.contains(">roads<") && !all.contains(">scan<"))
      for (id, format) in [("roads", "pbf"), ("scan", "png")] {
        #expect(try served.get("/\(id)/1/0/0.\(format)").status == 200)
        for target in [
          "/wmts?service=WMTS&request=GetTile&layer=\(id)&tilematrix=1&tilerow=0&tilecol=0",
          """
          /wmts?service=WMTS&request=GetTile&layer=\(id)&tilematrixset=WebMercatorQuad&tilematrix=1&tilerow=0&tilecol=0
          """,
          "/wmts/1.0.0/\(id)/default/WebMercatorQuad/1/0/0.\(format)", "/\(id)/WMTSCapabilities.xml",
          "/wmts/1.0.0/\(id)/WMTSCapabilities.xml", "/\(id)/wmts?service=WMTS&request=GetCapabilities",
        ] {
          for _ in 0..<2 {
            let response = try served.get(target)
            #expect(response.status == 400 && response.text.contains("no layer of WMTS"), "\(target): \(response)")
          }
        }
      }
      // Nor do they lie above or below a map.
      for target in ["/relief,scan/1/0/0.png", "/scan,relief/1/0/0.png", "/plan,scan/1/0/0.png", "/relief,scan.json"] {
        let response = try served.get(target)
        #expect(response.status == 400 && response.text.contains("flat image"), "\(target): \(response)")
      }
      #expect(try served.get("/relief,degrees.json").status == 400)
      #expect(try served.get("/relief,labels.json").status == 200)
    }
  }

  @Test func wmtsErrorsAreExceptionReports() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let base = "service=WMTS&request=GetTile&layer=relief&tilematrixset=WebMercatorQuad"
      let place = "tilematrix=1&tilerow=0&tilecol=0"
      func at(_ matrix: String, _ row: String, _ column: String) -> String {
        "/wmts?\(base)&tilematrix=\(matrix)&tilerow=\(row)&tilecol=\(column)"
      }
      let cases: [(String, String, String?, Int)] = [
        ("/wmts?service=WMS&request=GetMap", "InvalidParameterValue", "service", 400),
        ("/wmts?request=GetWeather", "InvalidParameterValue", "request", 400),
        ("/wmts?layer=relief&\(place)", "MissingParameterValue", "request", 400),
        ("/wmts?request=GetTile", "MissingParameterValue", "Layer", 400),
        ("/wmts?\(base)&tilematrix=1&tilerow=0", "MissingParameterValue", "TileCol", 400),
        ("/wmts?\(base)&tilematrix=&tilerow=0&tilecol=0", "MissingParameterValue", "TileMatrix", 400),
        (at("x", "0", "0"), "InvalidParameterValue", "TileMatrix", 400),
        (at("99", "0", "0"), "InvalidParameterValue", "TileMatrix", 400),
        (at("-1", "0", "0"), "InvalidParameterValue", "TileMatrix", 400),
        (at("1", "1.5", "0"), "InvalidParameterValue", "TileRow", 400),
        (at("1", "0", "2"), "TileOutOfRange", "TileCol", 400), (at("1", "2", "0"), "TileOutOfRange", "TileRow", 400),
        (at("1", "-1", "0"), "TileOutOfRange", "TileRow", 400),
        (at("1", "0", "99999999999999999999"), "TileOutOfRange", "TileCol", 400),
        // In the grid, and not in the tileset.
        (at("2", "3", "3"), "TileOutOfRange", nil, 404), (at("9", "0", "0"), "TileOutOfRange", nil, 404),
        (at("1", "0", "0") + "&format=image/gif", "InvalidParameterValue", "Format", 400),
        (at("1", "0", "0") + "&format=application/x-protobuf", "InvalidParameterValue", nil, 400),
        (at("1", "0", "0") + "&style=pretty", "InvalidParameterValue", "Style", 400),
        (at("1", "0", "0") + "&version=2.0.0", "InvalidParameterValue", "version", 400),
        (at("1", "0", "0").replacing("relief", with: "none"), "InvalidParameterValue", "Layer", 400),
        ("/wmts?request=GetTile&layer=relief,roads&\(place)", "InvalidParameterValue", nil, 400),
        (
          at("1", "0", "0").replacing("relief", with: Array(repeating: "relief", count: 9).joined(separator: ",")),
          "InvalidParameterValue", "Layer", 400
        ),
        (at("1", "0", "0").replacing("WebMercatorQuad", with: "Other"), "InvalidParameterValue", "TileMatrixSet", 400),
        (at("1", "0", "%zz"), "InvalidParameterValue", nil, 400),
        ("/wmts?request=GetFeatureInfo", "OperationNotSupported", "request", 501),
        ("/wmts/1.0.0/relief/pretty/WebMercatorQuad/1/0/1.png", "InvalidParameterValue", "Style", 400),
        ("/wmts/1.0.0/relief/default/WorldCRS84Quad/1/0/1.png", "InvalidParameterValue", "TileMatrixSet", 400),
        ("/wmts/1.0.0/relief/default/WebMercatorQuad/1/2/0.png", "TileOutOfRange", "TileRow", 400),
        ("/wmts/1.0.0/relief/default/WebMercatorQuad/2/3/3.png", "TileOutOfRange", nil, 404),
        ("/wmts/1.0.0/relief,labels/default/None/1/0/0.png", "InvalidParameterValue", "TileMatrixSet", 400),
        ("/wmts/1.0.0/none/default/WebMercatorQuad/1/0/0.png", "InvalidParameterValue", "Layer", 404),
        ("/wmts/1.0.0/none/WMTSCapabilities.xml", "InvalidParameterValue", "Layer", 404),
        ("/none/WMTSCapabilities.xml", "InvalidParameterValue", "Layer", 404),
        ("/none/wmts?service=WMTS&request=GetCapabilities", "InvalidParameterValue", "Layer", 404),
        ("/wmts/1.0.0/WMTSCapabilities.xml?a=%zz", "InvalidParameterValue", nil, 400),
        ("/wmts/1.0.0/relief/default/WebMercatorQuad/1/x/0.png", "InvalidParameterValue", nil, 400),
      ]
      for (target, code, locator, status) in cases {
        // Twice: before the bundle is open, and after.
        for _ in 0..<2 {
          let response = try served.get(target)
          #expect(response.status == status, "\(target): \(response)")
          #expect(response["Content-Type"] == "text/xml; charset=utf-8", "\(target): \(response)")
          let tree = try XMLTree.parsed(response.body)
          let exception = try #require(tree.children.first, "\(target): \(response)")
          #expect(
            tree.name == "ExceptionReport" && exception.attributes["exceptionCode"] == code, "\(target): \(response)")
          #expect(exception.attributes["locator"] == locator, "\(target): \(response)")
        }
      }
      let wide = "/wmts/1.0.0/air/default/WebMercatorQuad/1/0/1.webp"
      #expect(try served.get(wide).status == 400)
    }
  }
}

/// A strict reader of Prometheus' text format, version 0.0.4.
private struct PrometheusText {
  struct Failure: Error { let line: Substring }
  var samples: [String: Double] = [:]

  init(_ text: String) throws {
    var described: Set<Substring> = []
    var typed: [Substring: Substring] = [:]
    guard text.hasSuffix("\n") else { throw Failure(line: text.suffix(20)) }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if let help = line.wholeMatch(of: /# HELP ([a-z_]+) .+/) {
        guard described.insert(help.output.1).inserted else { throw Failure(line: line) }
      } else if let type = line.wholeMatch(of: /# TYPE ([a-z_]+) (counter|gauge|histogram)/) {
        guard described.contains(type.output.1), typed[type.output.1] == nil else { throw Failure(line: line) }
        typed[type.output.1] = type.output.2
      } else if let sample = line.wholeMatch(of: /([a-z_]+)(\{(?:[a-z]+="[^"\\\n]*",?)+\})? (\S+)/) {
        let name = sample.output.1
        let family = ["_bucket", "_sum", "_count"].compactMap { name.hasSuffix($0) ? name.dropLast($0.count) : nil }
          .first { typed[$0] == "histogram" }
        guard typed[family ?? name] != nil, let value = Double(sample.output.3) else { throw Failure(line: line) }
        let key = "\(name)\(sample.output.2 ?? "")"
        guard samples.updateValue(value, forKey: key) == nil else { throw Failure(line: line) }
      } else {
        throw Failure(line: line)
      }
    }
  }
}
