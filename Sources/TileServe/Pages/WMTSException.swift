import TileIndex

/// A refusal in WMTS' own words (07-057r7, section 7.2.4, and OWS Common).
struct WMTSError: Error {
  enum Code: String {
    case missingParameterValue = "MissingParameterValue"
    case invalidParameterValue = "InvalidParameterValue"
    case tileOutOfRange = "TileOutOfRange"
    case operationNotSupported = "OperationNotSupported"
    case noApplicableCode = "NoApplicableCode"
  }

  let code: Code
  /// The parameter at fault, where it is one.
  let locator: String?
  let text: String

  init(_ code: Code, _ locator: String?, _ text: String) {
    (self.code, self.locator, self.text) = (code, locator, text)
  }

  /// What any other failure is to a WMTS client.
  ///
  /// - Parameter reason: what everybody else is told.
  init(_ error: any Error, reason: String) {
    switch error {
    case let error as WMTSError: self = error
    case let error as GridError where error.code == .zoomOutOfRange:
      self.init(.invalidParameterValue, "TileMatrix", reason)
    case let error as GridError:
      self.init(.tileOutOfRange, error.code == .columnOutOfRange ? "TileCol" : "TileRow", reason)
    case let error as ServeError where error.code == .unknownTileset:
      self.init(.invalidParameterValue, "Layer", reason)
    case let error as ServeError where error.code == .badRequest: self.init(.invalidParameterValue, nil, reason)
    default: self.init(.noApplicableCode, nil, reason)
    }
  }
}

/// An exception report (OGC 06-121r3, section 8), which WMTS clients get instead of an answer.
package enum OWSException {
  /// - Parameters:
  ///   - code: one of the codes of the specification, such as `InvalidParameterValue`.
  ///   - locator: the parameter at fault.
  ///   - text: what is wrong and what would be right.
  package static func document(code: String, locator: String? = nil, text: String) -> [UInt8] {
    var xml = XMLWriter()
    let root: KeyValuePairs = [
      "xmlns": "http://www.opengis.net/ows/1.1", "version": "1.1.0", "xml:lang": "en",
    ]
    xml.element("ExceptionReport", root) { xml in
      if let locator {
        xml.element("Exception", ["exceptionCode": code, "locator": locator]) { xml in
          xml.element("ExceptionText", text: text)
        }
      } else {
        xml.element("Exception", ["exceptionCode": code]) { xml in xml.element("ExceptionText", text: text) }
      }
    }
    return xml.bytes
  }
}
