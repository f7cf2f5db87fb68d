import SwiftASN1
import X509

extension Certificate {
  /// Whether PKCS#7's issuer and serial number, in DER, mean this certificate.
  func isNamed(issuer: ArraySlice<UInt8>, serialNumber: ArraySlice<UInt8>) -> Bool {
    guard let node = try? DER.parse(issuer), let name = try? DistinguishedName(derEncoded: node), name == self.issuer,
      let number = try? ArraySlice<UInt8>(derEncoded: serialNumber)
    else { return false }
    return number.elementsEqual(self.serialNumber.bytes)
  }
}
